import Glibc

/// Every connection is a descriptor, and shells give 1,024 of them by default where they would allow many more.
enum DescriptorLimit {
    static func raise() {
        let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(descriptors, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(descriptors, &limit)
    }
}
