// A program outside the project records three intervals and finds them counted.
#include <filesystem>
#include <iostream>
#include <metatrain_timing/recorder/interval.hpp>
#include <metatrain_timing/recorder/recorder.hpp>
#include <metatrain_timing/schema/sql.hpp>
#include <metatrain_timing/version.hpp>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: consumer DATABASE\n";
        return 2;
    }
    metatrain_timing::Options options;
    options.database = argv[1];
    metatrain_timing::start(options);
    const auto step = metatrain_timing::stage("step");
    for (int i = 0; i < 3; ++i) {
        const metatrain_timing::Interval interval(step);
    }
    metatrain_timing::stop();

    const auto recorded = metatrain_timing::health().recorded_count;
    std::cout << "metatrain-timing " << metatrain_timing::kVersion << ", schema "
              << metatrain_timing::schema::kVersion << ": " << recorded
              << " intervals in " << options.database << '\n';
    return recorded == 3 && std::filesystem::exists(options.database) ? 0 : 1;
}
