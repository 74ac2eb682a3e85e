/// A file that a writer made.
public struct SourceFile: Sendable, Equatable {
    public let name: String
    public let text: String
}

/// A language that clients are generated in. Another one is another of these.
public protocol ClientWriter: Sendable {
    func write(_ service: ServiceModel) -> SourceFile
}

extension ServiceModel {
    /// The name of the class or structure that stands for the service: `NotesService`.
    var typeName: String { Words(name).upperCamel + "Service" }

    var origin: String {
        let note =
            "Written by `porticoctl client generate` from the declarations of \(name). Generate it anew, do not edit it."
        return leftOut.isEmpty
            ? note : note + "\nNot here, because they carry no values: \(leftOut.joined(separator: ", "))."
    }
}
