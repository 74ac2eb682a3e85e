// An adapter's author imports AdapterKit alone.
@_exported import ValueTree

/// The version of this SDK, by the rules of semantic versioning: a later minor version compiles what an earlier one does.
/// `public-surface.txt` lists what it declares.
public let adapterKitVersion = "1.0.0"
