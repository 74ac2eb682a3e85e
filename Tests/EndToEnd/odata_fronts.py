"""Gateways in front of another gateway's OData services, for clients that shall not notice."""

import pathlib
import shutil
import tempfile

from harness import Gateway, run_portico

CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts:
    - {{ name: alice, password: portico-demo, roles: [member] }}
    - {{ name: bob, password: portico-demo, roles: [member] }}
upstreams:
  back:
    url: 'http://127.0.0.1:{port}/'
    networks: [127.0.0.1/32]
    deadline: 20s
    credentials: {{ kind: basic, username: carol, password: {{ env: BACK_PASSWORD }} }}
adapters:
  odata:
    services:
      admissions:
        {{ model: model.xml, upstream: back, path: 'odata/v{version}/admissions/', write: through,
          access: {{ read: login, write: login }}, {mode} }}
"""
MIRRORED, CALLED = "freshFor: 1d, waitFor: 60s", "mode: call"
#: Version of the other service and mode.
FRONTS = {
    f"{name}{version}": (version, mode) for name, mode in (("Mirrored", MIRRORED), ("Called", CALLED)) for version in (2, 4)}


def start_front(case, version, mode):
    """A gateway in front of the demonstration, which ends with the class."""
    back = Gateway()
    case.addClassCleanup(back.remove)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-fronts-"))
    case.addClassCleanup(shutil.rmtree, folder, True)
    environment, config = {"BACK_PASSWORD": "portico-demo"}, folder / "portico.yaml"
    config.write_text(CONFIGURATION.format(port=back.port, version=version, mode=mode))
    done = run_portico(
        "odata", "fetch", f"odata/v{version}/admissions/", folder / "model.xml", "--upstream", "back", "--config", config,
        program="porticoctl", environment=environment)
    assert done.returncode == 0, done
    gateway = Gateway(config=str(config), environment=environment)
    case.addClassCleanup(gateway.remove)
    # A new key in a mirror is the one behind the last: the entities are there before the first is made.
    answer = gateway.get("/odata/v4/admissions/Students/$count", user="alice")
    assert answer.status == 200, answer
    return gateway


def variants(loader, suite, cases, left_out):
    """The suite, and each of the cases in front of each service. `left_out`: names of tests by the beginning of a front's name."""
    for name, (version, mode) in FRONTS.items():
        without = {test: None for start, tests in left_out.items() if name.startswith(start) for test in tests}
        for case in cases:
            own = {test: None for test in without if hasattr(case, test)}
            suite.addTests(loader.loadTestsFromTestCase(type(f"{case.__name__}{name}", (case,), {
                **own, "__module__": case.__module__,
                "start": classmethod(lambda cls, version=version, mode=mode: start_front(cls, version, mode))})))
    return suite
