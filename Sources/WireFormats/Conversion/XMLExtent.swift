/// Finds where the next item of an XML document's content ends without reading it: an element with all that is in it, an
/// end tag, a comment, a CDATA section, a processing instruction, or text up to the next markup. What is wrong inside is
/// found when the item is read.
struct XMLExtent: NestedExtent {
    private enum State {
        case text, markup, endTag, startTag, instruction, bang, commentStart, comment, cdata
        case quoted(UInt8)
    }

    private var origin: Int
    private var containers = OpenContainers()
    /// Where the markup under way began, in the whole document.
    private var markup = 0
    private var state = State.text
    /// The bytes before, since the state was entered.
    private var before: (UInt8, UInt8) = (0, 0)
    private(set) var scanned = 0

    init(from origin: Int) { self.origin = origin }

    /// The length of the item that starts at `start`; nil where more bytes are needed.
    mutating func length(_ bytes: [UInt8], from start: Int, isAtEnd: Bool) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            while start + scanned < bytes.count {
                let byte = bytes[start + scanned]
                if containers.depth == 0, scanned > 0, case .text = state, byte == UInt8(ascii: "<") { return scanned }
                scanned += 1
                if step(byte) { return scanned }
            }
            return isAtEnd ? scanned : nil
        }
    }

    /// Takes one byte; tells whether the item ends with it.
    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        switch state {
        case .text:
            if byte == UInt8(ascii: "<") { (state, markup) = (.markup, origin + scanned - 1) }
            return false
        case .quoted(let quote):
            if byte == quote { enter(.startTag) }
            return false
        case .startTag: return stepInStartTag(byte)
        case .endTag:
            guard byte == UInt8(ascii: ">") else { return false }
            containers.close()
            return leave()
        default: return stepElsewhere(byte)
        }
    }

    private mutating func stepInStartTag(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): state = .quoted(byte)
        case UInt8(ascii: ">"):
            if before.1 != UInt8(ascii: "/") { containers.open(at: markup) }
            return leave()
        default: before.1 = byte
        }
        return false
    }

    private mutating func stepElsewhere(_ byte: UInt8) -> Bool {
        switch state {
        case .markup: enterMarkup(byte)
        case .bang: enterBang(byte)
        case .commentStart: enter(byte == UInt8(ascii: "-") ? .comment : .startTag)
        default: return stepInSection(byte)
        }
        return false
    }

    private mutating func enterMarkup(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "/"): enter(.endTag)
        case UInt8(ascii: "?"): enter(.instruction)
        case UInt8(ascii: "!"): enter(.bang)
        default: enter(.startTag)
        }
    }

    private mutating func enterBang(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "-"): enter(.commentStart)
        case UInt8(ascii: "["): enter(.cdata)
        default: enter(.startTag)
        }
    }

    /// `-->`, `]]>` or `?>` ends it.
    private mutating func stepInSection(_ byte: UInt8) -> Bool {
        var ends = false
        if byte == UInt8(ascii: ">") {
            switch state {
            case .comment: ends = before == (UInt8(ascii: "-"), UInt8(ascii: "-"))
            case .cdata: ends = before == (UInt8(ascii: "]"), UInt8(ascii: "]"))
            default: ends = before.1 == UInt8(ascii: "?")
            }
        }
        if ends { return leave() }
        before = (before.1, byte)
        return false
    }

    private mutating func enter(_ next: State) {
        state = next
        before = (0, 0)
    }

    private mutating func leave() -> Bool {
        state = .text
        return containers.depth == 0
    }

    mutating func resume(at origin: Int) -> Bool {
        guard containers.enter(at: origin) else { return false }
        scanned -= origin - self.origin
        self.origin = origin
        return true
    }
}
