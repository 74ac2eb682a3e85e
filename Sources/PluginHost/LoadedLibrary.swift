import AdapterKit
import Glibc

/// A library in this process. It stays to the process's end: Swift's runtime keeps pointers into every library that it
/// has seen types of, so unloading one is never safe (hence no `dlclose`, and RTLD_NODELETE).
///
/// RTLD_NOW: a missing symbol is an error here instead of a crash at some later call. RTLD_LOCAL: what a plugin embeds
/// does not resolve the symbols of other libraries.
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

/// A name for an open library from which its run path `$ORIGIN/../lib` leads where it leads from the library's folder.
///
/// Loaded as `/proc/self/fd/N`, a library would have `/proc/self/fd` for its `$ORIGIN`. So it gets a symbolic link to
/// that in a folder of this process alone, beside one to the `lib` folder. Both are needed during the loading only.
struct LibraryLink {
    let path: String
    private let root: String

    /// Nil where no temporary folder can be made: then the descriptor's own path has to do.
    init?(to file: OpenFile, named original: String) {
        var template = Array("/tmp/portico-plugin-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        root = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        let slash = original.lastIndex(of: "/") ?? original.startIndex
        path = "\(root)/plugins/\(original[slash...].drop { $0 == "/" })"
        guard mkdir("\(root)/plugins", 0o700) == 0, symlink(file.pathOfDescriptor, path) == 0,
            symlink("\(original[..<slash])/../lib", "\(root)/lib") == 0
        else {
            remove()
            return nil
        }
    }

    func remove() {
        unlink(path)
        unlink("\(root)/lib")
        rmdir("\(root)/plugins")
        rmdir(root)
    }
}

extension OpenFile {
    /// Leads to the open file itself (proc(5)), even where it has no name any more.
    var pathOfDescriptor: String { "/proc/self/fd/\(descriptor)" }
}
