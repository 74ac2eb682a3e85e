/// The trailer of a binary property list, checked against the document's size: the offset table lies between the header
/// and the trailer, so that reading an entry needs no further check but its index.
struct BinaryPropertyListLayout {
    static let trailerSize = 32
    let offsetSize: Int
    let referenceSize: Int
    let objectCount: Int
    let topObject: Int
    let tableOffset: Int

    init(_ bytes: Span<UInt8>) throws(WireFormatError) {
        let magic = BinaryPropertyListFormat.magic
        let trailer = bytes.count - Self.trailerSize
        guard trailer > magic.count, magic.indices.allSatisfy({ bytes[$0] == magic[$0] }) else {
            throw Self.malformed("not a binary property list", at: 0)
        }
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw Self.malformed("the trailer names an impossible width", at: trailer + 6)
        }
        let count = bytes.bigEndian(at: trailer + 8, width: 8)
        let top = bytes.bigEndian(at: trailer + 16, width: 8)
        let table = bytes.bigEndian(at: trailer + 24, width: 8)
        guard table > UInt64(magic.count), table < UInt64(trailer) else {
            throw Self.malformed("the offset table lies outside of the document", at: trailer + 24)
        }
        guard count > 0, count <= (UInt64(trailer) - table) / UInt64(offsetSize) else {
            throw Self.malformed("the offset table is longer than the document", at: trailer + 8)
        }
        guard top < count else { throw Self.malformed("the top object does not exist", at: trailer + 16) }
        (objectCount, topObject, tableOffset) = (Int(count), Int(top), Int(table))
    }

    /// Where an object starts: between the header and the offset table.
    func offset(of object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> Int {
        let entry = tableOffset + object * offsetSize
        let offset = bytes.bigEndian(at: entry, width: offsetSize)
        guard offset >= 8, offset < UInt64(tableOffset) else {
            throw Self.malformed("an object's offset lies outside of the objects", at: entry)
        }
        return Int(offset)
    }

    /// The object that a reference at `position` names. The caller knows that the reference lies inside the objects.
    func reference(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> Int {
        let object = bytes.bigEndian(at: position, width: referenceSize)
        guard object < UInt64(objectCount) else {
            throw Self.malformed("a reference to an object that does not exist", at: position)
        }
        return Int(object)
    }

    static func malformed(_ message: String, at offset: Int) -> WireFormatError {
        WireFormatError(.malformed, message, at: .init(offset: offset))
    }
}

extension Span<UInt8> {
    /// An unsigned number of 1 to 8 bytes. Behind whatever is read stands the trailer, so eight bytes are nearly always
    /// there.
    @inline(__always)
    func bigEndian(at position: Int, width: Int) -> UInt64 {
        guard position >= 0, position &+ 8 <= count else { return bigEndian(atEnd: position, width) }
        let word = UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
        return word &>> UInt64(64 &- 8 &* width)
    }

    private func bigEndian(atEnd position: Int, _ width: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in position..<position + width { value = value &<< 8 | UInt64(self[index]) }
        return value
    }
}
