import AdapterKit
import Backups
import Foundation
import HostConfiguration

extension BackupContents {
    /// The installed packages, the configuration and what it names, as a plan has them. `configuration`: its file.
    init(of plan: HostPlan, configuration: String) {
        let data = plan.settings.dataDirectory.path
        let directory = URL(fileURLWithPath: configuration).deletingLastPathComponent()
        var files = [
            File(path: "configuration/\(URL(fileURLWithPath: configuration).lastPathComponent)", source: configuration)
        ]
        var adapters: [CopyManifest.Adapter] = []
        for planned in plan.adapters {
            let (name, version) = (planned.declaration.name.text, planned.declaration.version)
            let connection = plan.resolved["adapters.\(name).\(ConfigurableAdapter.connect.path)"]?.text
            let source: CopyManifest.Adapter.Source
            if planned.program?.isInstalled == true {
                source = .package
            } else if planned.program != nil {
                source = .program
            } else if connection != nil {
                source = .connection
            } else {
                source = .builtIn
            }
            if let connection {
                let file = URL(fileURLWithPath: connection, relativeTo: directory)
                files.append(File(path: "configuration/\(file.lastPathComponent)", source: file.path))
            }
            adapters.append(
                CopyManifest.Adapter(
                    name: name, version: version, source: source,
                    path: source == .program ? planned.program?.file : nil))
        }
        files += Self.files(below: "\(data)/\(InstalledReleases.folderName)", as: InstalledReleases.folderName)
        let certificates = [
            "http.tls.certificate", "http.tls.clientAuthorities", "admin.tls.certificate",
            "admin.tls.clientAuthorities",
        ]
        .compactMap { key -> CopyManifest.Certificate? in
            guard let path = plan.resolved[key]?.text, !path.isEmpty else { return nil }
            return CopyManifest.Certificate(key: key, path: path)
        }
        self.init(version: PorticoRelease.version, files: files, adapters: adapters, certificates: certificates)
    }

    /// Regular files, but for what was not finished.
    private static func files(below folder: String, as name: String) -> [File] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return names.sorted().compactMap { path in
            let source = "\(folder)/\(path)"
            let attributes = try? FileManager.default.attributesOfItem(atPath: source)
            guard !path.hasPrefix("."), attributes?[.type] as? FileAttributeType == .typeRegular else { return nil }
            return File(path: "\(name)/\(path)", source: source)
        }
    }
}
