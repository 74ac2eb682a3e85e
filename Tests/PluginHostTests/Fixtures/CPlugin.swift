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
