import Glibc

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
