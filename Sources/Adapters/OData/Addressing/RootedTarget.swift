/// A request's target, which begins with the root that it came to.
enum RootedTarget {
    /// What stands below the root, as it came. By bytes, which is what a target is made of.
    static func relative(_ target: String, below root: String) -> String {
        let rest = target.utf8.dropFirst(root.utf8.count)
        // One slash belongs to the root; an empty segment behind it is none of a path's.
        return String(Substring(rest.first == UInt8(ascii: "/") ? rest.dropFirst() : rest))
    }
}
