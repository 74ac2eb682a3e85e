import AdapterKit
import ODataModel
import WireFormats

/// A request's body as an element. What is not well-formed, or has a DOCTYPE, is refused by the reader of all XML.
enum AtomBody {
    static func root(_ body: [UInt8]) throws(PorticoError) -> XMLElement {
        do {
            return try XMLElement(xml: body)
        } catch {
            let place = error.position?.line.map { " (line \($0))" } ?? ""
            throw PorticoError(.requestMalformed, "The body is no XML: \(error.message)\(place).")
        }
    }
}
