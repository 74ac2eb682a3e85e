import Foundation

/// Compares many stores with their ledgers: what a disk might have held when the power went. Prints a line for each that
/// lost something, and how many there were; ends without an error either way.
struct ImageVerification {
    let directory: String

    func run() async throws {
        var (intact, lossy) = (0, 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() {
            var options = try Options([])
            options.directory = "\(directory)/\(name)"
            do {
                _ = try await Verification(options).run()
                intact += 1
            } catch {
                print("\(name): \(error)")
                lossy += 1
            }
        }
        print("\(intact) intact, \(lossy) lost something")
    }
}
