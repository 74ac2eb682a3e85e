import ODataModel

extension CSDLElement {
    /// A document that names a vocabulary, and where that is published: whoever reads a document finds every vocabulary that
    /// it uses (CSDL 4.01, section 3.3).
    func referring(to vocabulary: String) -> CSDLElement {
        let includes = all("Reference").flatMap { $0.all("Include") }
        guard !includes.contains(where: { $0["Namespace"] == vocabulary }) else { return self }
        let address = "https://oasis-tcs.github.io/odata-vocabularies/vocabularies/\(vocabulary).xml"
        let include = CSDLElement("Include", namespace: CSDLNamespace.edmx, [.init("Namespace", vocabulary)])
        var document = self
        document.children.insert(
            CSDLElement("Reference", namespace: CSDLNamespace.edmx, [.init("Uri", address)], children: [include]), at: 0
        )
        return document
    }
}
