// Loads a library that records, has two threads record, and unloads it while one of
// them lives on: that thread's end, and the program's, must not miss what is gone.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    std::string folder =
        (std::filesystem::temp_directory_path() / "mt-test-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
        return 3;
    }
    const std::string database = folder + "/run.db";
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 4;
    }
    const auto record_something =
        reinterpret_cast<int (*)(const char*)>(dlsym(library, "record_something"));
    std::promise<int> recorded;
    std::promise<void> unloaded;
    std::thread other([&] {
        recorded.set_value(record_something(database.c_str()));
        unloaded.get_future().wait();
    });
    const bool is_written = recorded.get_future().get() == 1 &&
                            record_something(database.c_str()) == 2 &&
                            std::filesystem::exists(database);
    dlclose(library);
    unloaded.set_value();
    other.join();
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    std::error_code ignored;
    std::atexit([] { std::puts("ended"); });
    return is_written ? 0 : 5;
}
