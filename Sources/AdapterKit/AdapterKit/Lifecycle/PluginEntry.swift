@_exported import CAdapterKitStamp
@_exported import ValueTree

// A plugin exports two C functions. Its author writes them in one small file:
//
//     import AdapterKit
//
//     @c(adapterkit_stamp) public func stamp() -> UnsafePointer<AdapterKitStamp> { adapterKitStamp() }
//     @c(adapterkit_module) public func module() -> UnsafeMutableRawPointer { adapterModuleBox(NotesModule.self) }
//
// They stand in the plugin, not here, because the stamp has to be compiled into the plugin's own file. C functions,
// because their names can be looked up; the names of Swift functions change with their signatures.

/// What a plugin hands to the host: its adapter's module, as a retained object.
///
/// A class, because whether an object is one of *this* AdapterKit's boxes can be tested at run time, even for one that another library made.
public final class AdapterModuleBox: Sendable {
    /// The plugin's module.
    public let module: any AdapterModule.Type
    /// Whether the plugin was built without optimisation.
    public let isDebugBuild: Bool

    @usableFromInline
    init(_ module: any AdapterModule.Type, isDebugBuild: Bool) {
        self.module = module
        self.isDebugBuild = isDebugBuild
    }
}

/// The module in a box that the caller owns: what a plugin's `adapterkit_module` returns.
///
/// Compiled into the plugin, so that the box states how the plugin was built and not how this library was.
@_alwaysEmitIntoClient
public func adapterModuleBox(_ module: any AdapterModule.Type) -> UnsafeMutableRawPointer {
    Unmanaged.passRetained(AdapterModuleBox(module, isDebugBuild: _isDebugAssertConfiguration())).toOpaque()
}

// An adapter's author imports AdapterKit alone, a plugin's entry too.
