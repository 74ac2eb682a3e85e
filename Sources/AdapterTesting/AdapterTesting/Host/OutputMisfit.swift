import AdapterKit

/// An answer that is not what its operation declares: always the adapter's fault.
public struct OutputMisfit: Error, Equatable, CustomStringConvertible {
    public let operation: OperationName
    public let reason: String

    public var description: String { "\(operation) answers what it does not declare: \(reason)" }

    static func check(_ answer: OperationResult, of operation: Operation) throws {
        switch answer.content {
        case .nothing: return
        case .value(let value):
            guard operation.documentType == nil else {
                throw OutputMisfit(operation: operation.name, reason: "a value instead of a document")
            }
            do {
                try operation.output.check(value)
            } catch {
                throw OutputMisfit(operation: operation.name, reason: error.message)
            }
        case .document(_, let mediaType):
            guard mediaType == operation.documentType else {
                throw OutputMisfit(operation: operation.name, reason: "a document of type \(mediaType)")
            }
        }
    }
}
