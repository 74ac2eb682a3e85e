$ porticoctl adapter pack --version 1.0.0
./tasks-1.0.0.adapter
