"""The JavaScript client in a real browser: sign-in, resources, live streams, and work without a network."""

import functools
import http.server
import json
import threading
import unittest
import uuid

import browser
from sync_device import Device
from harness import ROOT, Gateway, GatewayTest

MOMENTS = ROOT / "Tests/EndToEnd/models/moments.csdl.xml"
CLIENT = ROOT / "Sources" / "BrowserClient" / "Client"
WITHOUT_BROWSER = "this machine has no Chromium"


@unittest.skipUnless(browser.program(), WITHOUT_BROWSER)
class BrowserTest(GatewayTest):
    """A browser and a page that has the client as `portico`, signed in as alice."""

    user = "alice"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = f"http://127.0.0.1:{cls.gateway.port}"
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.person = self.browser.person()
        self.addCleanup(self.person.leave)
        self.page = self.open()
        self.page.run(f"await portico.signIn('{self.user}', 'portico-demo')")
        self.server = Device(self.gateway, self.user, collections=["notes"])
        self.server.pull()

    def open(self, options="{}"):
        """A page with nothing in it but the client. The style is a file that belongs to no page of ours."""
        page = self.person.page(f"{self.address}/client/notes.css")
        page.run(f"""await (async () => {{
            globalThis.client = await import('{self.address}/client/portico.js');
            globalThis.portico = client.connect({options});
        }})()""")
        return page

    def replica(self, page=None):
        """Opens alice's replica as `replica`; what it says is gathered in `heard`."""
        page = page or self.page
        page.run("""await (async () => {
            globalThis.heard = [];
            globalThis.replica = await portico.replica(['notes']);
            for (const type of ['state', 'settled', 'problem']) {
                replica.addEventListener(type, ({ detail }) => heard.push({ type, ...detail }));
            }
        })()""")

    def live(self, page=None):
        (page or self.page).until("replica.phase === 'live'")

    def title(self, identifier, page=None):
        return (page or self.page).run(f"(await replica.record('notes', '{identifier}'))?.fields.title ?? null")

    def has_title(self, identifier, title, page=None):
        (page or self.page).until(f"(await replica.record('notes', '{identifier}'))?.fields.title === '{title}'")

    def all_sent(self, page=None):
        (page or self.page).until("(await replica.pending()) === 0")

    def new_note(self, title="t"):
        identifier = str(uuid.uuid4())
        self.assertEqual(self.server.change("create", identifier, {"title": title})["outcome"], "applied")
        return identifier

    def on_server(self, identifier):
        answer = self.gateway.get(f"/api/v1/notes/notes/{identifier}", user=self.user)
        return answer.json()["title"] if answer.status == 200 else None


class Online(BrowserTest):
    def test_a_page_signs_in_reads_its_account_and_signs_out(self):
        self.assertEqual(self.page.run("(await portico.user()).name"), "alice")
        self.page.run("await portico.signOut()")
        self.assertIsNone(self.page.run("await portico.user()"))

    def test_a_wrong_password_is_an_error_with_the_servers_code(self):
        code = self.page.run("await portico.signIn('alice', 'wrong').catch((error) => error.code)")
        self.assertEqual(code, "auth.invalid")

    def test_the_password_and_the_session_are_nowhere_that_a_script_can_read(self):
        stored = self.page.run("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        self.assertNotIn("portico-demo", stored)
        self.assertNotIn("portico_session", stored)

    def test_a_record_is_created_read_changed_listed_and_deleted(self):
        received = self.page.run("""await (async () => {
            const notes = portico.resource('notes', 'notes');
            const made = await notes.create({ title: 'Milk' });
            const read = await notes.get(made.value.id);
            const changed = await notes.update(made.value.id, { title: 'Oat milk' }, { ifMatch: read.etag });
            const late = await notes.update(made.value.id, { title: 'Rye' }, { ifMatch: read.etag }).catch((e) => e.code);
            const found = [];
            for await (const note of notes.all({ filter: `id eq '${made.value.id}'`, limit: 1 })) found.push(note.title);
            await notes.delete(made.value.id);
            const gone = await notes.get(made.value.id).catch((error) => error.code);
            return { changed: changed.value.title, late, found, gone };
        })()""")
        self.assertEqual(received, {
            "changed": "Oat milk", "late": "record.preconditionFailed", "found": ["Oat milk"], "gone": "record.notFound"})

    def test_all_walks_every_page(self):
        for number in range(5):
            self.new_note(f"walked {number}")
        titles = self.page.run("""await (async () => {
            const found = [];
            const notes = portico.resource('notes', 'notes');
            for await (const note of notes.all({ search: 'walked', limit: 2 })) found.push(note.title);
            return found.sort();
        })()""")
        self.assertEqual(titles, [f"walked {number}" for number in range(5)])

    def test_an_operation_is_called_by_its_name(self):
        note = self.new_note()
        shared = self.page.run(f"await portico.call('notes', 'share', {{ id: '{note}', with: ['bob'] }})")
        self.assertEqual(shared["sharedWith"], ["bob"])

    def test_tokens_are_renewed_once_however_many_calls_find_them_ended(self):
        page = self.open("{ tokens: new client.MemoryStorage() }")
        page.run("await portico.signIn('bob', 'portico-demo')")
        names = page.run("""await (async () => {
            const { tokens } = portico.credential.storage;
            portico.credential.storage.tokens = { ...tokens, accessToken: 'ended' };
            const users = await Promise.all([portico.user(), portico.user(), portico.user()]);
            return users.map((user) => user.name);
        })()""")
        self.assertEqual(names, ["bob"] * 3)

    def test_an_attachment_goes_up_in_pieces_and_comes_back(self):
        same = self.page.run("""await (async () => {
            const bytes = new Uint8Array(2_500_000).map((_, index) => index % 251);
            const digest = await portico.attachments.upload(new Blob([bytes]));
            await portico.resource('notes', 'notes').create({ title: 'with', attachments: [digest] });
            const back = new Uint8Array(await (await portico.attachments.download(digest)).arrayBuffer());
            return back.length === bytes.length && back.every((byte, index) => byte === bytes[index]);
        })()""")
        self.assertTrue(same)

    def test_the_checksum_is_the_one_of_the_protocols_page(self):
        number = self.page.run(
            "(await import('/client/checksum.js')).recordNumber('notes', 'a1', 1).toString(16).padStart(16, '0')")
        self.assertEqual(number, "1423499cbf817be5")


# A hundred and fifty edits, while every fourth request is lost on its way and every fourth answer on its way back.
BAD_NETWORK = """void (async () => {
    let seed = 20261121;
    const random = (bound) => (seed = (seed * 48271) % 2147483647) % bound;
    const requests = replica.synchronizer.pushing.requests;
    const real = requests.fetcher;
    let lost = 0;
    const lose = () => { lost += 1; throw new TypeError('lost'); };
    requests.fetcher = async (...call) => {
        if (random(4) === 0) lose();
        const answer = await real(...call);
        if (random(4) === 0) lose(await answer.body?.cancel());
        return answer;
    };
    // What a browser that finds a network says; pauses end with it.
    const hints = setInterval(() => dispatchEvent(new Event('online')), 10);
    const wanted = {};
    for (let step = 0; step < 150; step += 1) {
        const ids = Object.keys(wanted);
        const id = ids[random(ids.length || 1)];
        const action = id ? random(4) : 0;
        if (action < 2) {
            wanted[await replica.create('notes', { title: `made ${step}`, text: '' })] = `made ${step}`;
        } else if (action === 2) {
            await replica.update('notes', id, { title: wanted[id] = `changed ${step}` });
        } else {
            await replica.delete('notes', id);
            delete wanted[id];
        }
        if (random(5) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    while ((await replica.pending()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    requests.fetcher = real;
    clearInterval(hints);
    globalThis.told = { wanted, lost, problems: await replica.problems() };
})()"""


class Instants(BrowserTest):
    """JavaScript's dates have milliseconds; the server's instants have ten digits."""

    settings = (
        "--set", f"adapters.odata.services.moments.model={MOMENTS}", "--set", "adapters.odata.services.moments.access=public")
    collection = "moments-Moments"
    texts = [
        "2026-06-24T12:57:44.7570874Z", "0000-12-30T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.9999999Z"]

    def made(self, number, text):
        row = {"ID": number, "At": text, "Label": "base"}
        self.expect(self.gateway.send("POST", "/api/v1/odata/moments-Moments", row, user="alice"), 201)

    def stored(self, number):
        row = self.gateway.get(f"/api/v1/odata/moments-Moments/{number}", user="alice").json()
        return row["At"], row["Label"]

    def moments(self):
        self.page.run(f"await (async () => {{ globalThis.replica = await portico.replica(['{self.collection}']); }})()")
        self.live()

    def test_a_record_that_is_read_changed_and_sent_back_keeps_its_instants(self):
        for number, text in enumerate(self.texts, 1):
            self.made(number, text)
            self.page.run(f"""await (async () => {{
                const moments = portico.resource('odata', 'moments-Moments');
                const {{ value, etag }} = await moments.get('{number}');
                await moments.replace('{number}', {{ ...value, Label: 'replaced' }}, {{ ifMatch: etag }});
            }})()""")
            self.assertEqual(self.stored(number), (text, "replaced"))

    def test_an_edit_of_another_field_keeps_them_over_a_restart_and_in_a_conflict(self):
        for number, text in enumerate(self.texts, 11):
            self.made(number, text)
        self.moments()
        self.page.close()
        self.page = self.open()
        self.moments()
        for number, text in enumerate(self.texts, 11):
            record = f"(await replica.record('{self.collection}', '{number}'))"
            self.page.until(f"{record} !== null")
            self.assertEqual(self.page.run(f"{record}.fields.At"), text)
            # As a page does that writes all fields of what it read.
            self.page.run(f"await replica.update('{self.collection}', '{number}', {{ ...{record}.fields, Label: 'edited' }})")
        self.all_sent()
        for number, text in enumerate(self.texts, 11):
            self.assertEqual(self.stored(number), (text, "edited"))
        self.page.has_network(False)
        for number, _ in enumerate(self.texts, 11):
            self.page.run(f"await replica.update('{self.collection}', '{number}', {{ Label: 'mine' }})")
            self.expect(
                self.gateway.send("PATCH", f"/api/v1/odata/moments-Moments/{number}", {"Label": "theirs"}, user="alice"), 200)
        self.page.close()
        self.page = self.open()
        self.moments()
        self.all_sent()
        problems = self.page.run("await replica.problems()")
        self.assertEqual(
            sorted(problem["record"]["fields"]["At"] for problem in problems if problem["cause"] == "conflict"), sorted(self.texts))
        for problem in problems:
            self.page.run(f"await replica.retry({problem['number']})")
        self.all_sent()
        for number, text in enumerate(self.texts, 11):
            self.assertEqual(self.stored(number), (text, "mine"))


class Replica(BrowserTest):
    def test_a_change_elsewhere_arrives_by_itself(self):
        self.replica()
        self.live()
        note = self.new_note("from elsewhere")
        self.has_title(note, "from elsewhere")
        self.server.change("delete", note)
        self.page.until(f"(await replica.record('notes', '{note}')) === null")

    def test_an_observer_sees_an_edit_at_once_and_the_server_soon(self):
        self.replica()
        self.live()
        self.page.run("globalThis.seen = []")
        self.page.run("void replica.observe('notes', (records) => seen.push(records.map((one) => one.fields.title)))")
        note = self.page.run("await replica.create('notes', { title: 'observed', text: '' })")
        self.page.until("seen.at(-1)?.includes('observed')")
        self.all_sent()
        self.assertEqual(self.on_server(note), "observed")

    def test_a_record_made_without_a_network_has_its_key_and_no_field_that_its_collection_lacks(self):
        self.replica()
        self.live()
        self.page.has_network(False)
        made = self.page.run("await replica.create('notes', { title: 'made', text: '' })")
        own = self.page.run("await replica.create('notes', { id: crypto.randomUUID(), title: 'own', text: '' })")
        self.assertEqual(
            self.page.run(f"(await replica.record('notes', '{made}')).fields"), {"id": made, "title": "made", "text": ""})
        shown = "(await replica.records('notes')).filter((one) => one.isPending).map((one) => [one.id, one.fields.id])"
        self.assertEqual(sorted(self.page.run(shown)), sorted([[made, made], [own, own]]))
        for call, code in (
                ("create('notes', { titel: 'misspelt' })", "client.unknownField"),
                (f"update('notes', '{made}', {{ titel: 'misspelt' }})", "client.unknownField"),
                (f"update('notes', '{made}', {{ id: 'another' }})", "client.keyDiffers"),
                ("create('notes', { id: 'one' }, 'another')", "client.keyDiffers")):
            with self.subTest(call):
                self.assertEqual(self.page.run(f"await replica.{call}.then(() => null, (error) => error.code)"), code)
        self.page.has_network(True)
        self.all_sent()
        self.assertEqual((self.on_server(made), self.on_server(own)), ("made", "own"))
        self.assertEqual(self.page.run("await replica.problems()"), [])

    def test_edits_made_without_a_network_are_sent_when_it_is_back(self):
        self.replica()
        self.live()
        kept, gone = self.new_note("kept"), self.new_note("gone")
        self.has_title(gone, "gone")
        self.page.has_network(False)
        made = self.page.run("await replica.create('notes', { title: 'made', text: '' })")
        self.page.run(f"await replica.update('notes', '{kept}', {{ title: 'changed' }})")
        self.page.run(f"await replica.update('notes', '{kept}', {{ title: 'changed twice' }})")
        self.page.run(f"await replica.delete('notes', '{gone}')")
        self.page.until("replica.phase === 'offline'")
        self.assertEqual(self.title(kept), "changed twice")
        self.assertIsNone(self.title(gone))
        self.assertEqual(self.on_server(kept), "kept")
        self.page.has_network(True)
        self.all_sent()
        self.assertEqual((self.on_server(made), self.on_server(kept), self.on_server(gone)), ("made", "changed twice", None))
        self.assertEqual(self.page.run("await replica.problems()"), [])

    def test_a_request_that_hangs_without_a_network_ends_when_it_is_back(self):
        self.replica()
        self.live()
        self.page.run("""void (() => {
            const requests = replica.synchronizer.pushing.requests;
            const real = requests.fetcher;
            const never = new AbortController().signal;
            globalThis.hanging = 0;
            AbortSignal.timeout = () => never;
            requests.fetcher = (url, { signal }) => new Promise((_, reject) => {
                hanging += 1;
                signal.addEventListener('abort', () => reject(signal.reason));
            });
            globalThis.networkReturns = () => { requests.fetcher = real; dispatchEvent(new Event('online')); };
        })()""")
        note = self.page.run("await replica.create('notes', { title: 'hung', text: '' })")
        self.page.until("hanging > 0")
        self.page.run("void dispatchEvent(new Event('offline'))")
        self.page.run("networkReturns()")
        self.all_sent()
        self.assertEqual(self.on_server(note), "hung")

    def test_edits_outlive_the_page(self):
        self.replica()
        self.live()
        self.page.has_network(False)
        note = self.page.run("await replica.create('notes', { title: 'outlives', text: '' })")
        self.page.close()
        self.page = self.open()
        self.replica()
        self.all_sent()
        self.assertEqual(self.on_server(note), "outlives")

    def test_an_answer_that_is_lost_does_not_double_an_edit(self):
        self.replica()
        self.live()
        # The server makes the edit; the page never hears of it and asks again.
        self.page.run("""void (() => {
            const real = replica.synchronizer.pushing.requests.fetcher;
            let lost = 0;
            replica.synchronizer.pushing.requests.fetcher = async (...call) => {
                const answer = await real(...call);
                if (String(call[0]).endsWith('/push') && lost++ === 0) throw new TypeError('lost');
                return answer;
            };
        })()""")
        note = self.page.run("await replica.create('notes', { title: 'once', text: '' })")
        self.all_sent()
        self.assertEqual(self.on_server(note), "once")
        self.assertEqual(self.page.run("await replica.problems()"), [])
        self.server.pull()
        outcomes = self.page.run("heard.filter((one) => one.type === 'settled').map((one) => one.outcome.outcome)")
        self.assertEqual(outcomes, ["applied"])

    def test_many_edits_over_a_bad_network_are_each_made_once(self):
        self.replica()
        self.live()
        before = self.titles()
        self.page.run(BAD_NETWORK)
        self.page.until("!!globalThis.told")
        received = self.page.run("told")
        self.assertGreater(received["lost"], 10)
        self.assertEqual(received["problems"], [])
        after = self.titles()
        self.assertEqual({note: title for note, title in after.items() if note not in before}, received["wanted"])
        self.page.until(f"(await replica.records('notes')).length === {len(after)}")
        shown = self.page.run("(await replica.records('notes')).map((one) => [one.id, one.fields.title])")
        self.assertEqual(dict(map(tuple, shown)), after)

    def titles(self):
        self.server.pull()
        return {identifier: fields["title"] for (_, identifier), (_, fields) in self.server.rows.items()}

    def test_a_conflict_is_reported_with_both_copies_and_blocks_nothing(self):
        self.replica()
        self.live()
        note = self.new_note("first")
        self.has_title(note, "first")
        self.page.has_network(False)
        self.page.run(f"await replica.update('notes', '{note}', {{ title: 'mine' }})")
        other = self.page.run("await replica.create('notes', { title: 'behind it', text: '' })")
        self.server.change("update", note, {"title": "theirs"})
        self.page.has_network(True)
        self.all_sent()
        self.assertEqual(self.on_server(other), "behind it")
        problem, = self.page.run("await replica.problems()")
        self.assertEqual(
            (problem["cause"], problem["mine"]["fields"]["title"], problem["record"]["fields"]["title"]),
            ("conflict", "mine", "theirs"))
        self.has_title(note, "theirs")
        self.page.run(f"await replica.retry({problem['number']})")
        self.all_sent()
        self.assertEqual((self.on_server(note), self.page.run("await replica.problems()")), ("mine", []))

    def test_a_rejection_is_reported_and_can_be_dismissed(self):
        self.replica()
        self.live()
        self.page.run("await replica.create('notes', { title: '', text: '' })")
        self.all_sent()
        problem, = self.page.run("await replica.problems()")
        self.assertEqual((problem["cause"], problem["reason"]), ("rejected", "request.invalid"))
        self.page.run(f"await replica.discard({problem['number']})")
        self.assertEqual(self.page.run("await replica.problems()"), [])

    def test_of_two_pages_one_syncs_and_the_other_takes_over(self):
        self.replica()
        self.live()
        second = self.open()
        self.replica(second)
        note = second.run("await replica.create('notes', { title: 'by the second', text: '' })")
        self.all_sent(second)
        self.assertEqual(self.on_server(note), "by the second")
        self.has_title(note, "by the second")
        self.page.close()
        later = second.run("await replica.create('notes', { title: 'on its own', text: '' })")
        self.all_sent(second)
        self.assertEqual(self.on_server(later), "on its own")

    def test_a_sign_in_that_has_ended_pauses_and_drops_nothing(self):
        self.replica()
        self.live()
        self.page.run("await portico.request('POST', '/auth/logout', { body: {} })")
        note = self.page.run("await replica.create('notes', { title: 'patient', text: '' })")
        self.page.until("replica.phase === 'signedOut'")
        self.assertEqual(self.page.run("await replica.pending()"), 1)
        self.page.run("await portico.signIn('alice', 'portico-demo')")
        self.page.run("replica.sync()")
        self.all_sent()
        self.assertEqual(self.on_server(note), "patient")


class Demonstration(BrowserTest):
    """The page /client/, used as a person would."""

    def setUp(self):
        super().setUp()
        self.page = self.person.page(f"{self.address}/client/")
        self.page.until("document.getElementById('state').dataset.phase === 'live'")

    TITLES = "[...document.querySelectorAll('portico-notes strong')].map((one) => one.textContent)"
    STATE = "document.getElementById('state').textContent"

    def add(self, title):
        self.page.run(f"void (document.getElementById('title').value = {json.dumps(title)})")
        self.page.run("document.querySelector('#new button').click()")
        self.page.until(f"document.querySelector('#note-title')?.value === {json.dumps(title)}")
        self.page.until(f"{self.TITLES}.includes({json.dumps(title)})")

    def write(self, text):
        """Into the field that has the keyboard."""
        self.page.call("Input.insertText", text=text)

    def sent(self):
        self.page.until(f"{self.STATE} === 'Up to date'")

    def on_server(self, title):
        found = self.gateway.get(f"/api/v1/notes/notes?search={title}", user="alice").json()["items"]
        return [(note["title"], note["text"]) for note in found if note["title"] == title]

    def test_it_opens_and_takes_notes_without_a_network(self):
        # The worker has the page's files before the network goes.
        self.page.until("(await navigator.serviceWorker.ready).active.state === 'activated'")
        self.add("with")
        self.sent()
        self.page.has_network(False)
        self.gateway_stops()
        self.page.reload()
        self.page.until(f"{self.TITLES}.includes('with')")
        self.add("without")
        self.page.until(f"{self.STATE}.includes('1 to be sent')")

    def test_a_note_has_a_text_that_is_kept_while_it_is_written(self):
        self.add("recipe")
        self.page.until("document.activeElement.id === 'note-text'")
        self.write("Flour\n<img src=x onerror=globalThis.ran=1>")
        self.page.until(f"document.querySelector('portico-notes small')?.textContent.includes('Flour')")
        self.sent()
        self.assertEqual(self.on_server("recipe"), [("recipe", "Flour\n<img src=x onerror=globalThis.ran=1>")])
        self.assertIsNone(self.page.run("globalThis.ran ?? null"))
        self.page.run("void (document.querySelector('#note-title').value = '')")
        self.page.run("document.querySelector('portico-note form').requestSubmit()")
        self.page.until("document.querySelector('portico-note .problem').textContent === 'A note needs a title.'")
        self.assertEqual(self.on_server("recipe")[0][0], "recipe")

    def delete(self):
        self.page.run("[...document.querySelectorAll('portico-note button')].find((one) => one.textContent === 'Delete').click()")
        self.page.until("!document.getElementById('undo').hidden")

    def test_a_deletion_can_be_undone_and_nothing_has_happened_then(self):
        self.add("undone")
        self.sent()
        self.delete()
        self.assertNotIn("undone", self.page.run(self.TITLES))
        self.assertEqual(len(self.on_server("undone")), 1)
        self.page.run("document.querySelector('#undo button').click()")
        self.page.until(f"{self.TITLES}.includes('undone') && document.getElementById('undo').hidden")
        self.page.reload()
        self.page.until(f"{self.TITLES}.includes('undone')")
        self.assertEqual(len(self.on_server("undone")), 1)

    def test_a_deletion_is_made_after_a_while_or_when_the_page_opens_again(self):
        for title, leave in (("later", lambda: None), ("closed", lambda: self.page.reload())):
            self.add(title)
            self.sent()
            self.delete()
            leave()
            self.page.until(f"(await (await fetch('/api/v1/notes/notes?search={title}', {{headers: {{Accept: 'application/json'}}}})).json()).items.length === 0")

    def test_up_to_date_is_not_said_beside_an_open_conflict(self):
        self.add("contested")
        self.sent()
        [note] = [one for one in self.gateway.get("/api/v1/notes/notes?search=contested", user="alice").json()["items"]]
        self.page.has_network(False)
        self.page.run("void (document.querySelector('#note-title').value = 'mine')")
        self.page.run("document.querySelector('portico-note form').requestSubmit()")
        self.page.until(f"{self.STATE}.includes('1 to be sent')")
        self.expect(self.gateway.send("PATCH", f"/api/v1/notes/notes/{note['id']}", {"title": "theirs"}, user="alice"), 200)
        self.page.has_network(True)
        self.page.run("dispatchEvent(new Event('online'))")
        self.page.until("!!document.querySelector('.conflict')")
        self.page.until(f"{self.STATE} === 'One note to be settled'")
        shown = self.page.run("[...document.querySelectorAll('.versions strong')].map((one) => one.textContent)")
        self.assertEqual(shown, ["mine", "theirs"])
        self.page.run("[...document.querySelectorAll('.conflict button')].find((one) => one.textContent === 'Keep mine').click()")
        self.page.until("!document.querySelector('.conflict')")
        self.sent()
        self.assertEqual(self.gateway.get(f"/api/v1/notes/notes/{note['id']}", user="alice").json()["title"], "mine")

    def test_a_note_of_another_account_is_shown_and_not_written(self):
        note = self.gateway.send("POST", "/api/v1/notes/notes", {"title": "by bob", "text": "x"}, user="bob").json()["id"]
        self.gateway.send("POST", "/api/v1/notes/operations/share", {"id": note, "with": ["alice"]}, user="bob")
        self.page.until(f"{self.TITLES}.includes('by bob')")
        self.page.run(f"document.querySelector('[data-note=\"{note}\"]').click()")
        self.page.until("document.querySelector('#note-title')?.readOnly && document.querySelector('#note-text').readOnly")
        self.assertIn("from bob", self.page.run("document.querySelector('portico-note').textContent"))
        self.assertNotIn("Delete", self.page.run("document.querySelector('portico-note').textContent"))

    def gateway_stops(self):
        """Belt and braces: a worker's requests are not the page's, so the server itself goes out of reach for it."""
        for target in self.browser.call("Target.getTargets")["targetInfos"]:
            if target["type"] == "service_worker":
                session = self.browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
                self.browser.call(
                    "Network.emulateNetworkConditions", session, offline=True, latency=0, downloadThroughput=-1,
                    uploadThroughput=-1)


@unittest.skipUnless(browser.program(), WITHOUT_BROWSER)
class HybridApp(unittest.TestCase):
    """An app that brings the modules along and talks to a gateway of another origin, with tokens."""

    @classmethod
    def setUpClass(cls):
        serve = functools.partial(Quiet, directory=CLIENT)
        cls.pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
        cls.addClassCleanup(cls.pages.server_close)
        threading.Thread(target=cls.pages.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.pages.shutdown)
        cls.origin = f"http://127.0.0.1:{cls.pages.server_port}"
        cls.gateway = Gateway("--set", f"http.cors.origins=[{cls.origin}]")
        cls.addClassCleanup(cls.gateway.remove)
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def test_it_signs_in_reads_follows_and_works_offline(self):
        page = self.browser.person().page(f"{self.origin}/errors.js")
        page.run(f"""await (async () => {{
            const {{ connect, MemoryStorage }} = await import('{self.origin}/portico.js');
            globalThis.portico = connect({{ url: 'http://127.0.0.1:{self.gateway.port}', tokens: new MemoryStorage() }});
            await portico.signIn('carol', 'portico-demo');
            globalThis.replica = await portico.replica(['notes']);
        }})()""")
        page.until("replica.phase === 'live'")
        server = Device(self.gateway, "carol", collections=["notes"])
        note = str(uuid.uuid4())
        server.change("create", note, {"title": "from elsewhere"})
        page.until(f"!!(await replica.record('notes', '{note}'))")
        page.run(f"await replica.update('notes', '{note}', {{ title: 'by the app' }})")
        page.until("(await replica.pending()) === 0")
        server.pull()
        self.assertEqual(server.rows["notes", note][1]["title"], "by the app")
        self.assertEqual(page.run("document.cookie"), "")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *parts):
        pass


class Files(GatewayTest):
    def test_every_module_is_kept_by_the_worker_and_served_with_a_policy_and_a_tag(self):
        folder = CLIENT.parent
        worker = self.gateway.get("/client/worker.js").text()
        for path in sorted([*folder.glob("Client/*.*s"), *folder.glob("Demonstration/*.*s")]):
            answer = self.expect(self.gateway.get(f"/client/{path.name}"), 200)
            self.assertEqual(answer.body, path.read_bytes(), path.name)
            self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
            self.assertEqual(answer.headers["cache-control"], "public, no-cache")
            again = self.gateway.get(f"/client/{path.name}", headers={"If-None-Match": answer.headers["etag"]})
            self.assertEqual((again.status, again.body), (304, b""))
            if path.name != "worker.js":
                self.assertIn(f'"{path.name}"', worker)


if __name__ == "__main__":
    unittest.main()
