// An adapter's author imports AdapterKit alone, a plugin's entry too.
@_exported import CAdapterKitStamp
@_exported import ValueTree
