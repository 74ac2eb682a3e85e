import AdapterKit
import Gateway

/// The operators' console, below `/console/` at the admin listener. Plain HTML, CSS and modules.
public enum ConsoleFiles {
    public static let all: [PageFile] =
        [
            PageFile("/console/", .html, PackageResources.console_html),
            PageFile.style(at: "/console/base.css"),
            PageFile("/console/console.css", .style, PackageResources.console_css),
            PageFile.elements(at: "/console/elements.js"),
            PageFile.icon(at: "/console/icon.svg"),
        ] + modules.map { PageFile(PathTemplate(stringLiteral: "/console/\($0.name).js"), .module, $0.bytes) }

    private static let modules: [(name: String, bytes: [UInt8])] = [
        ("console", PackageResources.console_js),
        ("adapters", PackageResources.adapters_js),
        ("audit", PackageResources.audit_js),
        ("chart", PackageResources.chart_js),
        ("configuration", PackageResources.configuration_js),
        ("devices", PackageResources.devices_js),
        ("dialog", PackageResources.dialog_js),
        ("gateway", PackageResources.gateway_js),
        ("logs", PackageResources.logs_js),
        ("overview", PackageResources.overview_js),
        ("people", PackageResources.people_js),
        ("records", PackageResources.records_js),
        ("systems", PackageResources.systems_js),
        ("table", PackageResources.table_js),
        ("view", PackageResources.view_js),
    ]
}
