$ porticoctl adapters install tasks-1.0.0.adapter --data ../company/.portico
$ porticoctl adapters show tasks --data ../company/.portico
$ porticoctl adapters packages --data ../company/.portico
