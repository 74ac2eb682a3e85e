import AdapterKit

/// What an operation of a program may answer.
struct DeclaredOutput: Sendable {
    let effect: Effect
    private let shape: Shape
    private let documentType: String?

    init(_ operation: Operation) {
        (effect, shape, documentType) = (operation.effect, operation.output, operation.documentType)
    }

    /// What of an answer contradicts the declaration, with the path of the member at fault; nil: nothing.
    func problem(of result: OperationResult) -> String? {
        switch result.content {
        case .nothing: return nil
        case .value(let value):
            guard documentType == nil else { return "a value instead of a document" }
            do {
                try shape.check(value)
                return nil
            } catch {
                return "\(error.target.map { "\($0): " } ?? "")\(error.message)"
            }
        case .document(_, let mediaType):
            guard let documentType else { return "a document instead of a value" }
            // With parameters, such as a character set, it is the same type.
            let type = mediaType.prefix { $0 != ";" }
            return type.lowercased() == documentType.prefix { $0 != ";" }.lowercased()
                ? nil : "a document of another media type"
        }
    }
}
