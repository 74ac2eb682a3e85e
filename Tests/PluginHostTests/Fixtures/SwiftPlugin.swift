import Foundation

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
