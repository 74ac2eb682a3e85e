import CLibXML2

/// The library's state for the whole process.
enum LibXML2 {
    /// No network, no errors on standard error, lines beyond 65,535. Not among them: NOENT, DTDLOAD, XINCLUDE, HUGE.
    static let options = Int32(
        XML_PARSE_NONET.rawValue | XML_PARSE_NOERROR.rawValue | XML_PARSE_NOWARNING.rawValue
            | XML_PARSE_BIG_LINES.rawValue)

    /// Must come before any other use; costs nothing after the first time.
    static func prepare() { _ = once }

    private static let once: Void = {
        xmlInitParser()
        // The loader is the library's only way to a file or an address. This room is the process's only user of
        // libxml2, and it loads nothing.
        xmlSetExternalEntityLoader { _, _, _ in nil }
    }()
}
