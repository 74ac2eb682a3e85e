extension String {
    /// Without the white space of XML at both ends: what XML Schema collapses around every value but a text (part 2, section
    /// 4.3.6).
    public var trimmingXMLSpace: String {
        let bytes = utf8.drop(while: XMLCharacters.isSpace)
        guard let last = bytes.lastIndex(where: { !XMLCharacters.isSpace($0) }) else { return "" }
        return String(decoding: bytes[...last], as: UTF8.self)
    }
}
