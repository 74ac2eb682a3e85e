import AdapterKit
import WireFormats

/// A JSON document in a field of a form (``FormBody/document(field:complaint:)``).
struct EmbeddedDocument {
    let field: FieldName

    /// Nil where the body is no form with that field. Throws `request.malformed` for a form that is not well encoded.
    ///
    /// The content type is not asked where the field stands first: clients that do not encode the document rarely name
    /// the type either.
    func bytes(in body: [UInt8], contentType: String?) throws(PorticoError) -> [UInt8]? {
        let prefix = Array("\(field)=".utf8)
        if body.starts(with: prefix), body.count > prefix.count, body[prefix.count] == UInt8(ascii: "{") {
            return Array(body[prefix.count...])
        }
        guard contentType.flatMap({ MediaType($0)?.essence }) == BodyReader.formType || body.starts(with: prefix) else {
            return nil
        }
        return try encoded(in: body)
    }

    private func encoded(in body: [UInt8]) throws(PorticoError) -> [UInt8]? {
        let documents = try FormText.items(ofBody: body).filter { $0.name == field.text }
        guard documents.count < 2 else {
            throw PorticoError(.requestDuplicateKey, "The form names a field twice.", target: field.text)
        }
        return documents.first.map { Array($0.value.utf8) }
    }
}
