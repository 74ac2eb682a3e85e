import AdapterKit
import WireFormats

/// A JSON document in a field of a form (``FormBody/document(field:errorMessage:)``).
struct EmbeddedDocument {
    let field: FieldName
    let forms: FormReader

    /// Nil where the body is no form with that field. Throws what ``FormReader`` does.
    ///
    /// The content type is hardly asked where the field stands first: clients that do not encode the document rarely
    /// name the type either. A body that says it has several parts is none of theirs.
    func bytes(in body: [UInt8], contentType: String?) throws(PorticoError) -> [UInt8]? {
        let prefix = Array("\(field)=".utf8)
        let type = contentType.flatMap { MediaType($0) }
        guard type?.type != "multipart" else { return nil }
        if body.starts(with: prefix), body.count > prefix.count, body[prefix.count] == UInt8(ascii: "{") {
            try forms.checkLength(body.count)
            return Array(body[prefix.count...])
        }
        guard type?.essence == BodyReader.formType || body.starts(with: prefix) else { return nil }
        return try encoded(in: body)
    }

    private func encoded(in body: [UInt8]) throws(PorticoError) -> [UInt8]? {
        let documents = try forms.fields(of: body).filter { $0.name == field.text }
        guard documents.count < 2 else {
            throw PorticoError(.requestDuplicateKey, "The form names a field twice.", target: field.text)
        }
        return documents.first.map { Array($0.value.utf8) }
    }
}
