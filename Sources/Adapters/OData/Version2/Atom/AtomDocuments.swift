import AdapterKit
import ODataModel

/// Documents that have no entries in them.
enum AtomDocuments {
    /// RFC 5023, section 8.
    static func service(_ sets: [String], _ scope: Version2Scope, to output: inout XMLOutput) {
        output.begin(
            "app:service",
            [
                ("xml:base", scope.root), ("xml:lang", Version2Error.language), ("xmlns:app", AtomName.publishing),
                ("xmlns:atom", AtomName.atom), ("xmlns:sap", Version2Namespace.sap),
            ])
        output.begin("app:workspace")
        output.element("atom:title", [("type", "text")], text: "Default")
        for set in sets {
            output.begin("app:collection", [("sap:content-version", "1"), ("href", set)])
            output.element("atom:title", [("type", "text")], text: set)
            output.end()
        }
        output.end()
        output.element("atom:link", [("rel", "self"), ("href", scope.root)])
        output.end()
    }

    static func links(_ links: Version2Links, to output: inout XMLOutput) {
        let namespace = [("xmlns", Version2Namespace.data)]
        guard links.isCollection else {
            output.element("uri", namespace, text: links.addresses.first ?? "")
            return
        }
        output.begin("links", namespace)
        if let count = links.count {
            output.element("m:count", [("xmlns:m", Version2Namespace.metadata)], text: String(count))
        }
        for address in links.addresses { output.element("uri", text: address) }
        if let next = links.next { output.element("next", text: next) }
        output.end()
    }

    /// As SAP's gateway has it.
    static func error(_ failure: Version2Error, to output: inout XMLOutput) {
        output.begin("error", [("xmlns", Version2Namespace.metadata)])
        output.element("code", text: failure.error.code.rawValue)
        output.element("message", [("xml:lang", Version2Error.language)], text: failure.error.message)
        output.begin("innererror")
        output.element("transactionid", text: failure.requestID)
        output.begin("errordetails")
        for detail in [failure.error] + failure.details {
            output.begin("errordetail")
            output.element("code", text: detail.code.rawValue)
            output.element("message", text: detail.message)
            output.element("propertyref", text: detail.target ?? "")
            output.element("severity", text: "error")
            output.end()
        }
        output.end()
        output.end()
        output.end()
    }
}
