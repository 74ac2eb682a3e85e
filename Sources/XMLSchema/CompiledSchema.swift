import CLibXML2

/// libxml2's compiled schema. Used by one thread at a time.
struct CompiledSchema: ~Copyable {
    private let schema: xmlSchemaPtr

    init(_ bytes: [UInt8]) throws(XMLSchemaError) {
        let document = try ParsedDocument(bytes)
        guard let context = xmlSchemaNewDocParserCtxt(document.tree) else {
            throw XMLSchemaError(.notASchema, line: nil)
        }
        defer { xmlSchemaFreeParserCtxt(context) }
        let collector = ViolationCollector()
        xmlSchemaSetParserStructuredErrors(
            context, { ViolationCollector.collect($0, $1) }, Unmanaged.passUnretained(collector).toOpaque())
        let compiled = withExtendedLifetime(collector) { xmlSchemaParse(context) }
        guard let compiled, collector.violations.isEmpty else {
            if let compiled { xmlSchemaFree(compiled) }
            throw XMLSchemaError(.notASchema, line: collector.violations.first?.line)
        }
        schema = compiled
    }

    deinit { xmlSchemaFree(schema) }

    func violations(in document: borrowing ParsedDocument) -> [XMLSchemaViolation] {
        // Cannot trap: but where the memory is used up.
        guard let context = xmlSchemaNewValidCtxt(schema) else { preconditionFailure("out of memory") }
        defer { xmlSchemaFreeValidCtxt(context) }
        let collector = ViolationCollector()
        xmlSchemaSetValidStructuredErrors(
            context, { ViolationCollector.collect($0, $1) }, Unmanaged.passUnretained(collector).toOpaque())
        let result = withExtendedLifetime(collector) { xmlSchemaValidateDoc(context, document.tree) }
        // An invalid document that the library had nothing to say about must not pass for a valid one.
        if result != 0, collector.violations.isEmpty {
            return [XMLSchemaViolation(message: "the document could not be validated", line: 1)]
        }
        return collector.violations
    }
}
