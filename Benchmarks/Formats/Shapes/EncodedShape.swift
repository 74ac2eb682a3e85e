import ValueTree
import WireFormats

/// A shape's documents in every format that a work reads.
public struct EncodedShape: Sendable {
    public let shape: Shape
    private let bytes: [FormatName: [[UInt8]]]

    public init(_ shape: Shape, in catalogue: FormatCatalogue = .standard) throws {
        self.shape = shape
        bytes = try Dictionary(
            uniqueKeysWithValues: catalogue.formats.map { format in
                (format.name, try shape.documents.map { try format.write($0) })
            })
    }

    /// The documents in a format of the catalogue.
    public subscript(format: FormatName) -> [[UInt8]] { bytes[format] ?? [] }
}
