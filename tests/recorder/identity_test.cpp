#include "recorder/core/src/identity.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "recorder/core/src/uuid.hpp"

namespace metatrain_timing::detail {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables variables) {
    return [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

RunIdentity identity_of(Variables variables) {
    return make_identity(environment_of(std::move(variables)), 100, std::nullopt);
}

Variables torchrun(int rank, int restarts, const std::string& id = "none") {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", "2"},
            {"LOCAL_RANK", std::to_string(rank)},
            {"LOCAL_WORLD_SIZE", "2"},
            {"MASTER_ADDR", "localhost"},
            {"MASTER_PORT", "29500"},
            {"TORCHELASTIC_RUN_ID", id},
            {"TORCHELASTIC_RESTART_COUNT", std::to_string(restarts)}};
}

TEST(Identity, WithoutALauncherEveryRunIsANewJob) {
    const RunIdentity first = identity_of({});
    const RunIdentity second = identity_of({});
    EXPECT_TRUE(is_uuid(first.uuid));
    EXPECT_TRUE(is_uuid(first.job));
    EXPECT_NE(first.uuid, second.uuid);
    EXPECT_NE(first.job, second.job);
    EXPECT_EQ(first.attempt, 1);
    EXPECT_EQ(first.fixed_by, 100);
    EXPECT_FALSE(first.is_rank);
}

TEST(Identity, RanksOfTorchrunAgree) {
    const RunIdentity first = identity_of(torchrun(0, 0));
    const RunIdentity second = identity_of(torchrun(1, 0));
    EXPECT_EQ(first.uuid, second.uuid);
    EXPECT_EQ(first.job, second.job);
    EXPECT_EQ(second.rank.rank, 1);
    EXPECT_EQ(second.rank.world_size, 2);
    EXPECT_EQ(second.launcher, "torchrun");
}

TEST(Identity, ARestartByTorchrunIsAnotherAttemptOfTheJob) {
    const RunIdentity first = identity_of(torchrun(0, 0));
    const RunIdentity restarted = identity_of(torchrun(0, 1));
    EXPECT_EQ(restarted.job, first.job);
    EXPECT_NE(restarted.uuid, first.uuid);
    EXPECT_EQ(restarted.attempt, 2);
}

TEST(Identity, RunIdsTellJobsOfTorchrunApart) {
    EXPECT_NE(identity_of(torchrun(0, 0, "a")).job,
              identity_of(torchrun(0, 0, "b")).job);
}

TEST(Identity, RanksOnSeveralHostsAgreeByTheirAddress) {
    auto first = torchrun(0, 0);
    auto second = torchrun(1, 0);
    for (Variables* variables : {&first, &second}) {
        (*variables)["LOCAL_WORLD_SIZE"] = "1";
        (*variables)["MASTER_ADDR"] = "node7";
    }
    EXPECT_EQ(identity_of(first).uuid, identity_of(second).uuid);
    second["MASTER_ADDR"] = "node8";
    EXPECT_NE(identity_of(first).uuid, identity_of(second).uuid);
}

TEST(Identity, TasksOfASlurmStepAgree) {
    const auto task = [](const std::string& rank, const std::string& step,
                         const std::string& restarts) {
        return identity_of({{"SLURM_JOB_ID", "4711"},
                            {"SLURM_STEP_ID", step},
                            {"SLURM_PROCID", rank},
                            {"SLURM_NTASKS", "8"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_RESTART_COUNT", restarts}});
    };
    EXPECT_EQ(task("0", "0", "0").uuid, task("5", "0", "0").uuid);
    EXPECT_EQ(task("5", "0", "0").rank.rank, 5);
    EXPECT_EQ(task("5", "0", "0").rank.local_rank, 1);
    EXPECT_NE(task("0", "1", "0").job, task("0", "0", "0").job);
    EXPECT_EQ(task("0", "0", "2").job, task("0", "0", "0").job);
    EXPECT_EQ(task("0", "0", "2").attempt, 3);
}

TEST(Identity, ABatchScriptOfSlurmIsNoRank) {
    const RunIdentity run = identity_of(
        {{"SLURM_JOB_ID", "4711"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}});
    EXPECT_FALSE(run.is_rank);
    EXPECT_EQ(run.rank.world_size, 1);
}

TEST(Identity, RanksOfMpiAgree) {
    const auto open_mpi = [](const std::string& rank) {
        return identity_of({{"OMPI_COMM_WORLD_RANK", rank},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                            {"PMIX_NAMESPACE", "prterun-7"}});
    };
    EXPECT_EQ(open_mpi("0").uuid, open_mpi("3").uuid);
    EXPECT_EQ(open_mpi("3").rank.rank, 3);
    const auto pmi = [](const std::string& rank) {
        return identity_of({{"PMI_RANK", rank}, {"PMI_SIZE", "2"}});
    };
    EXPECT_EQ(pmi("0").uuid, pmi("1").uuid);
    EXPECT_EQ(pmi("1").rank.rank, 1);
}

TEST(Identity, RanksWithTorchsVariablesAloneAgree) {
    const auto rank = [](const std::string& number) {
        return identity_of({{"RANK", number},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "localhost"},
                            {"MASTER_PORT", "1234"}});
    };
    EXPECT_EQ(rank("0").uuid, rank("1").uuid);
    EXPECT_NE(identity_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).uuid,
              identity_of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).uuid);
}

TEST(Identity, OddRankVariablesAreNone) {
    EXPECT_FALSE(find_rank(environment_of({{"RANK", "1"}})));
    EXPECT_FALSE(find_rank(environment_of({{"RANK", "x"}, {"WORLD_SIZE", "2"}})));
    EXPECT_FALSE(find_rank(environment_of({{"RANK", "-1"}, {"WORLD_SIZE", "2"}})));
    EXPECT_FALSE(find_rank(environment_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}})));
}

TEST(Identity, ChildrenFindTheRunInTheEnvironment) {
    const RunIdentity parent = identity_of({});
    const RunIdentity child = identity_of({{kRunVariable, run_variable(parent)}});
    EXPECT_EQ(child.uuid, parent.uuid);
    EXPECT_EQ(child.job, parent.job);
    EXPECT_EQ(child.attempt, parent.attempt);
    EXPECT_EQ(child.fixed_by, 100);
}

TEST(Identity, AMangledRunVariableIsIgnored) {
    const RunIdentity parent = identity_of({});
    for (const std::string& text :
         {std::string("x"), parent.uuid, parent.uuid + "/1/" + parent.job,
          parent.uuid + "/0/" + parent.job + "/7", parent.uuid + "/1/nobody/7",
          run_variable(parent) + "/8"}) {
        EXPECT_NE(identity_of({{kRunVariable, text}}).uuid, parent.uuid) << text;
    }
}

TEST(Identity, GoingOnIsTheNextAttempt) {
    const RunIdentity run =
        make_identity(environment_of({}), 100, PreviousAttempt{"the job", 2});
    EXPECT_EQ(run.job, "the job");
    EXPECT_EQ(run.attempt, 3);
}

TEST(Identity, TheParentLifeSaysWhetherItWasARank) {
    const std::string uuid = random_uuid();
    for (const bool was_rank : {false, true}) {
        const ParentLife life = parent_life(
            environment_of({{kParentVariable, parent_variable({uuid, was_rank})}}));
        EXPECT_EQ(life.process_uuid, uuid);
        EXPECT_EQ(life.was_rank, was_rank);
    }
    EXPECT_EQ(parent_life(environment_of({})).process_uuid, "");
    EXPECT_EQ(parent_life(environment_of({{kParentVariable, "x/rank"}})).process_uuid,
              "");
}

TEST(Uuid, NamesGiveTheSameUuidEverywhere) {
    // Worked out with Python's uuid.uuid5 and the project's name space.
    EXPECT_EQ(name_uuid("metatrain"), "44077d93-508a-55fb-b17e-27d78c1da0c2");
    EXPECT_NE(name_uuid("metatrain"), name_uuid("metatrain "));
}

TEST(Uuid, RandomOnesAreOfVersionFourAndDiffer) {
    const std::string uuid = random_uuid();
    EXPECT_TRUE(is_uuid(uuid));
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(uuid, random_uuid());
}

TEST(Uuid, KnowsWhatIsNone) {
    EXPECT_FALSE(is_uuid(""));
    EXPECT_FALSE(is_uuid("5b0e0c5d-3a0f-4d5e-9c1b-6d74696d657"));
    EXPECT_FALSE(is_uuid("5b0e0c5d-3a0f-4d5e-9c1b-6d74696d657G"));
    EXPECT_FALSE(is_uuid("5b0e0c5d03a0f-4d5e-9c1b-6d74696d6572"));
    EXPECT_TRUE(is_uuid("5b0e0c5d-3a0f-4d5e-9c1b-6d74696d6572"));
}

}  // namespace
}  // namespace metatrain_timing::detail
