import AdapterKit
import Gateway
import ValueTree
import WireFormats

/// The explorer, below `/docs/`: `/openapi.json` for people, to try with their own sign-in. Plain HTML, CSS and modules, which use
/// the JavaScript client.
public enum ExplorerFiles {
    public static let all: [PageFile] =
        [
            PageFile(
                "/docs/", .html, PackageResources.explorer_html,
                entry: .init(
                    "Explorer", "Every adapter, entity and operation, to read about and to call.", for: .developers)),
            PageFile("/docs", .html, PackageResources.explorer_html),
            PageFile("/docs/explorer.css", .style, PackageResources.explorer_css),
            PageFile("/docs/error-codes.js", .module, errorCodes),
        ]
        + modules.map { PageFile(PathTemplate(stringLiteral: "/docs/\($0.name).js"), .module, $0.bytes) }

    private static let modules: [(name: String, bytes: [UInt8])] = [
        ("explorer", PackageResources.explorer_js),
        ("contents", PackageResources.contents_js),
        ("description", PackageResources.description_js),
        ("formats", PackageResources.formats_js),
        ("operation", PackageResources.operation_js),
        ("snippets", PackageResources.snippets_js),
    ]

    /// What the codes of failures mean, as a module.
    private static let errorCodes: [UInt8] = {
        var codes = WireDictionary()
        for each in ErrorExplanation.all {
            codes[each.code.rawValue] = [
                "status": .int64(Int64(each.status)), "meaning": .string(each.meaning), "caller": .string(each.caller),
            ]
        }
        let text = (try? JSONFormat().write(.dictionary(codes))) ?? Array("{}".utf8)
        return Array("export default ".utf8) + text + Array(";\n".utf8)
    }()
}
