import AdapterKit
import Glibc

/// A library in this process. It stays to the process's end: Swift's runtime keeps pointers into every library that it
/// has seen types of, so unloading one is never safe (hence no `dlclose`, and RTLD_NODELETE).
///
/// RTLD_NOW: a missing symbol is an error here instead of a crash at some later call. RTLD_LOCAL: what a plugin embeds
/// does not answer for anybody else's symbols.
struct LoadedLibrary {
    private typealias StampEntry = @convention(c) () -> UnsafeRawPointer?
    private typealias ModuleEntry = @convention(c) () -> UnsafeMutableRawPointer?

    private let path: String
    private let handle: UnsafeMutableRawPointer

    /// Loads the open file, whatever its path leads to by now.
    ///
    /// The descriptor stays open to the process's end. The loader knows a library by the name it was opened by, so a
    /// descriptor's number that is used again would stand for the first library.
    init(_ plugin: PluginFile) throws(PluginError) {
        path = plugin.path
        try plugin.checkIsUnchanged()
        let link = LibraryLink(to: plugin.file, named: plugin.path)
        defer { link?.remove() }
        let name = link?.path ?? plugin.file.pathOfDescriptor
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | Int32(RTLD_NODELETE)) else {
            throw PluginError(path, .notLoadable(dlerror().map { String(cString: $0) } ?? "no reason given"))
        }
        _ = Unmanaged.passRetained(plugin.file)
        self.handle = handle
    }

    /// The stamp of what was really loaded.
    func stamp() throws(PluginError) -> PluginStamp {
        let entry = unsafeBitCast(try symbol("adapterkit_stamp"), to: StampEntry.self)
        guard let start = entry() else { throw PluginError(path, .malformedStamp) }
        let bytes = Array(UnsafeRawBufferPointer(start: start, count: PluginStamp.byteCount))
        guard let stamp = PluginStamp(bytes) else { throw PluginError(path, .malformedStamp) }
        return stamp
    }

    func box() throws(PluginError) -> AdapterModuleBox {
        let entry = unsafeBitCast(try symbol("adapterkit_module"), to: ModuleEntry.self)
        guard let pointer = entry() else { throw PluginError(path, .noModule) }
        let object = Unmanaged<AnyObject>.fromOpaque(pointer).takeRetainedValue()
        // Fails for the box of another copy of AdapterKit, whose protocols would be other ones too.
        guard let box = object as? AdapterModuleBox else { throw PluginError(path, .noModule) }
        return box
    }

    private func symbol(_ name: String) throws(PluginError) -> UnsafeMutableRawPointer {
        guard let symbol = dlsym(handle, name) else { throw PluginError(path, .entryMissing(name)) }
        return symbol
    }
}
