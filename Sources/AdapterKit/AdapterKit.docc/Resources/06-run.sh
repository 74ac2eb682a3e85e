$ swift build
$ portico serve --config gateway.yaml --data .portico

# in another terminal
$ curl -u alice:portico-demo -H 'Content-Type: application/json' \
    -d '{"id": "carol", "title": "Call Carol", "sharedWith": ["bob"]}' http://127.0.0.1:8084/api/v1/tasks/items
$ curl -u bob:portico-demo -H 'Content-Type: application/json' \
    -d '{"id": "carol"}' http://127.0.0.1:8084/api/v1/tasks/operations/finish
{"id":"carol","isDone":true}
