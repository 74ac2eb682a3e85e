$ porticoctl adapter new tasks --kind entity
$ cd tasks
$ swift test
