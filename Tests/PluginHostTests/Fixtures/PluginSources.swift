import Foundation

/// A library with this host's stamp that leaves a mark as soon as it is loaded, before anybody calls it.
struct CPlugin {
    let folder: Folder
    let path: String
    private let mark: String

    /// `entries` are the C functions that it exports. The caller keeps the folder for as long as it needs the file.
    init(in folder: Folder, entries: String = CPlugin.bothEntries) throws {
        self.folder = folder
        path = folder.path("libFixture.so")
        mark = folder.path("mark")
        let source = try folder.write(Self.source(entries, mark: mark).utf8, to: "fixture.c")
        try Tool.run("clang", "-shared", "-fPIC", "-I", Repository.stampModule, "-o", path, source)
    }

    var hasRun: Bool { FileManager.default.fileExists(atPath: mark) }

    static let stampEntry = "const void *adapterkit_stamp(void) { return adapterKitStamp(); }"
    static let bothEntries = stampEntry + emptyModuleEntry
    private static let emptyModuleEntry = "void *adapterkit_module(void) { return 0; }"

    private static func source(_ entries: String, mark: String) -> String {
        """
        #include <fcntl.h>
        #include <unistd.h>
        #include "AdapterKitStamp.h"
        __attribute__((constructor)) static void leaveMark(void) { close(open("\(mark)", O_CREAT | O_WRONLY, 0600)); }
        \(entries)
        """
    }
}

/// A plugin of one source file, compiled against the AdapterKit that the Notes package built.
struct SwiftPlugin {
    let path: String

    /// The caller keeps the folder for as long as it needs the file.
    init(in folder: Folder, module: String, _ source: String) throws {
        path = folder.path("lib\(module).so")
        let file = try folder.write(source.utf8, to: "\(module).swift")
        let kit = try NotesPlugin.folder.get()
        try Tool.run(
            "swiftc", "-emit-library", "-parse-as-library", "-module-name", module, "-I", kit.path, "-I",
            kit.appending(path: "Modules").path, "-I", Repository.stampModule, "-L", kit.path, "-lAdapterKit", "-o",
            path, file)
    }

    /// An adapter that does nothing but have a name.
    static func adapter(named name: String) -> String {
        """
        import AdapterKit
        public enum SomeModule: AdapterModule {
            public static var name: AdapterName { "\(name)" }
            public static func declare(_ configuration: AdapterConfiguration) throws -> AdapterDeclaration {
                AdapterDeclaration(name: name, title: "", summary: "", version: "1")
            }
            public static func make(_ configuration: AdapterConfiguration) throws -> any Adapter {
                throw CancellationError()
            }
        }
        @c(adapterkit_stamp) public func stamp() -> UnsafePointer<AdapterKitStamp> { adapterKitStamp() }
        @c(adapterkit_module) public func module() -> UnsafeMutableRawPointer { adapterModuleBox(SomeModule.self) }
        """
    }

    /// An entry that returns an object which is no module's box: what a plugin with its own copy of AdapterKit does.
    static let otherBox = """
        import AdapterKit
        final class AdapterModuleBox {}
        @c(adapterkit_stamp) public func stamp() -> UnsafePointer<AdapterKitStamp> { adapterKitStamp() }
        @c(adapterkit_module) public func module() -> UnsafeMutableRawPointer {
            Unmanaged.passRetained(AdapterModuleBox()).toOpaque()
        }
        """
}
