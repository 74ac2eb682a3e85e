$ porticoctl adapter pack --version 1.0.0
./tasks-1.0.0.adapter
$ mkdir -p /opt/adapters/tasks-1.0.0
$ tar -xf tasks-1.0.0.adapter -C /opt/adapters/tasks-1.0.0

# in the configuration of the gateway; then start it anew
#   plugins:
#     - { path: /opt/adapters/tasks-1.0.0/bin/tasks-worker, mode: worker }
#   adapters:
#     tasks: { access: login }
$ portico check --config /etc/portico/portico.yaml
