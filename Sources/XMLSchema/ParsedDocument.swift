import CLibXML2

/// A document as libxml2's tree, without a DOCTYPE. Freed with its owner.
struct ParsedDocument: ~Copyable {
    let tree: xmlDocPtr

    init(_ document: [UInt8]) throws(XMLSchemaError) {
        guard let context = xmlNewParserCtxt() else { throw XMLSchemaError(.notWellFormed, line: nil) }
        defer { xmlFreeParserCtxt(context) }
        // Stopping at the DOCTYPE's name, before any of its declarations.
        context.pointee.sax.pointee.internalSubset = { context, _, _, _ in
            xmlStopParser(context?.assumingMemoryBound(to: xmlParserCtxt.self))
        }
        let tree = document.withUnsafeBytes { bytes in
            xmlCtxtReadMemory(
                context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count), nil, nil,
                LibXML2.options)
        }
        guard context.pointee.errNo != Int32(XML_ERR_USER_STOP.rawValue) else {
            if let tree { xmlFreeDoc(tree) }
            throw XMLSchemaError(.doctypeRefused, line: Int(context.pointee.input?.pointee.line ?? 1))
        }
        guard let tree else { throw XMLSchemaError(.notWellFormed, line: Int(context.pointee.lastError.line)) }
        self.tree = tree
    }

    deinit { xmlFreeDoc(tree) }
}
