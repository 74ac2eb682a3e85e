$ portico init ../company --yes --admin ada --port 8086
$ portico serve --config ../company/portico.yaml --data ../company/.portico
