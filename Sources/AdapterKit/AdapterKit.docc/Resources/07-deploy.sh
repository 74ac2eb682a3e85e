# with the compiler and the SDK of the gateway
$ swift build -c release --product TasksAdapter
$ cp .build/release/libTasksAdapter.so /opt/portico/plugins/libTasksAdapter.so.new
$ mv /opt/portico/plugins/libTasksAdapter.so.new /opt/portico/plugins/libTasksAdapter.so

# in the configuration of the gateway; then start it anew
#   plugins:
#     - { path: libTasksAdapter.so, mode: inProcess }
#   adapters:
#     tasks: { access: login }
$ portico check --config /etc/portico/portico.yaml
