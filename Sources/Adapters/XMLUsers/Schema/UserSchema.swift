import AdapterKit

/// The schema of the documents that version 2 answers, made from the shapes that the answers are checked against.
enum UserSchema {
    static let mediaType = "application/xml; charset=utf-8"

    static let v2 = Array(
        SchemaDocument(
            namespace: UserOperations.namespace,
            elements: [
                (UserOperations.listRoot.root, UserOperations.listShape),
                (UserOperations.userRoot.root, UserOperations.userShape),
            ]
        ).text.utf8)
}
