/// Why a file is not read as an ELF library of this machine.
enum ELFReadError: Error, Equatable {
    case unreadable(String)
    case empty
    case notELF
    case truncated
    case malformed(String)
    case otherPlatform(String)
}
