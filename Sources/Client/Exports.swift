// An app that depends on the client alone reads and writes values.
@_exported import ValueTree
