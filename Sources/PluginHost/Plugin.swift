import AdapterKit

/// A plugin in this process. It stays loaded to the process's end.
public struct Plugin: Sendable {
    /// Absolute, symbolic links resolved.
    public let path: String
    public let stamp: PluginStamp
    public let module: any AdapterModule.Type
    /// Whether it was built without optimisation: it works, many times slower.
    public let isDebugBuild: Bool

    /// The Swift module that the adapter's type is declared in.
    var swiftModuleName: String {
        String(String(reflecting: module).prefix { $0 != "." })
    }
}
