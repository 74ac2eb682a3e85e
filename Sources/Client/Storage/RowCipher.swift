/// What seals fields, as the app gave it: bytes to bytes, bound to a context.
public struct RowCipher: Sendable {
    package typealias Step = @Sendable (_ bytes: [UInt8], _ context: [UInt8]) throws -> [UInt8]

    private let sealing: Step
    private let opening: Step

    package init(seal: @escaping Step, open: @escaping Step) {
        (sealing, opening) = (seal, open)
    }

    package func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { try sealing(bytes, context) }
    package func open(_ sealed: [UInt8], context: [UInt8]) throws -> [UInt8] { try opening(sealed, context) }
}
