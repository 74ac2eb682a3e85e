$ porticoctl adapter new tasks --kind entity
$ cd tasks
$ porticoctl adapter test
