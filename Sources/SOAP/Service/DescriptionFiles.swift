import Foundation

extension SOAPServiceDescription {
    /// Reads a WSDL and what it imports from files: from the WSDL's own folder and the folders below it, symbolic links
    /// included. Blocks. Throws ``SchemaProblem``.
    public init(contentsOf path: String) throws(SchemaProblem) {
        let file = URL(fileURLWithPath: path)
        let folder = file.deletingLastPathComponent().resolvingSymlinksInPath()
        self = try ServiceDescriptionReader.read(file.lastPathComponent) { name in
            let url = folder.appendingPathComponent(name).resolvingSymlinksInPath()
            // A link to another place is no file of the description; the first file itself may be one.
            guard name == file.lastPathComponent || url.path.hasPrefix(folder.path + "/") else {
                throw SchemaProblem("\(name) leaves the folder")
            }
            let size = try FileManager.default.attributesOfItem(atPath: url.path)[.size] as? Int ?? 0
            guard size <= ServiceDescriptionReader.maximumBytes,
                let data = FileManager.default.contents(atPath: url.path)
            else { throw SchemaProblem("\(name) cannot be read") }
            return [UInt8](data)
        }
    }
}
