# in your copy of the repository
make run
