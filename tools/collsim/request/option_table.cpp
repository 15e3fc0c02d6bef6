// Every option of every command, with its one text. A command's syntax names those that it takes.
// Help lists them in this order.

#include "models/nccl/settings/version.h"
#include "tools/collsim/core/option.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/size_option.h"
#include "tools/collsim/request/engine_name.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace {

OptionValue size() {
  return value_of<Bytes>("SIZE");
}

OptionValue output() {
  return value_of<OutputFile>("FILE");
}

OptionValue real() {
  return value_of<double>("X");
}

const OptionGroup machine_options{
    "machine",
    {
        {"scenario", "", text("NAME"), "a scenario or a machine: a file, or a shipped name"},
        {"subject", "", text("NAME"), "a machine, or a file of a program"},
        {"kind", "", text("KIND"), "names of one kind: models, topologies, ..."},
        {"topology", "t", text("NAME"), "machine: a file, or a name of `collsim topo list`"},
        {"node", "", text("NAME"), "node template: a file, or a name of topologies/nodes"},
        {"file", "", text("FILE"), "the file to read"},
        {"nodes", "", number(), "number of nodes (default: of the machine or the log)"},
        {"gpus", "", text("LIST"), "the same in GPUs, rounded up to whole nodes"},
        {"fabric", "", text("NAME"),
         "network between nodes: a file, or a name of `collsim topo list`"},
        {"ranks", "n", number(), "number of ranks: the first N GPUs, or the rows of N ranks"},
        {"ranks-per-node", "", number(), "number of ranks of each node: its first N GPUs"},
        {"rank-list", "", text("LIST"),
         "the GPUs of the ranks in order: 0,2,4..6 or node1/gpu0,node0/gpu3"},
        {"placement", "", text("WHERE"),
         "nodes of the job: packed, interleaved or random; or list:node[0,4,8-11], file:FILE"},
        {"set", "", texts("CHANGE"),
         "change the machine: nic=200Gb/s, nics=4, oversubscription=2; several by commas; may be "
         "repeated"},
        {"alpha", "", text("TIME"),
         "time of a message on the textbook's machine, which takes alpha + bytes / bandwidth: 1us"},
        {"bandwidth", "", text("RATE"), "rate of each rank there, each way: 50GB/s"},
        {"calibration", "", text("NAME"),
         "cost constants: a file, or a shipped name such as ideal (default: the machine's)"},
        {"fault", "", texts("FAULT"),
         "a fault, such as 'link: node0/nic0, bandwidth: 10%'; may be repeated"},
        {"seed", "", number(), "seed of what is drawn at random (default 0)"},
        {"slow-nic", "", real(), "share of its rate that one NIC has left: 0.5"},
        {"straggler", "", text("RANK:X"), "kernels of a rank take X times as long: 3:1.2"},
        {"nic", "", text("RATE"),
         "NICs of the hosts, where the log does not say them: 200Gb/s, 4x200Gb/s"},
        {"gpu", "", text("MODEL"),
         "model of the GPUs, where the file does not say it: H200, \"H100 PCIe\""},
        {"nics", "", number(0), "number of NICs to add to a node"},
    },
};

const OptionGroup call_options{
    "call",
    {
        {"collective", "c", text("NAME"), "a collective of `collsim list`"},
        {"datatype", "d", value_of<Datatype>("TYPE"),
         "type of an element, as in nccl-tests: float, half, ... (default float)"},
        {"op", "o", value_of<ReductionOp>("sum|prod|min|max|avg"), "reduction (default sum)"},
        {"root", "r", number(), "root of a broadcast, reduce, gather or scatter (default 0)"},
        {"algorithm", "a", text("LIST"),
         "algorithms of `collsim list`, kernels, or schedule files, by commas (default: what NCCL "
         "chooses; of a textbook the first in the list)"},
        {"protocol", "p", value_of<Protocol>("ll|ll128|simple"),
         "protocol (default: what NCCL chooses; of a textbook simple)"},
        {"schedule", "", value_of<ScheduleKind>("nccl|textbook"),
         "whose schedule runs (default: NCCL's, where it has the algorithm and the machine)"},
        {"kernels", "", text("NAME"),
         "kernels that are not NCCL's: of all-reduces vllm, sglang, tensorrt-llm or pytorch, with "
         "a release as vllm:0.14; of experts deepep, deepep-low-latency, nvlink-one-sided or "
         "nvlink-two-sided"},
        {"registered", "", flag(),
         "buffers are registered as windows (ncclCommWindowRegister), for NCCL's symmetric kernels "
         "(2.27 on)"},
        {"user-buffers", "", flag(),
         "also what buffers would save that ncclCommRegister or a CUDA graph registers"},
        {"env", "", texts("K=V"), "NCCL variable; may be repeated"},
        {"nccl-version", "", value_of<NcclVersions>("V"),
         "release of NCCL, 2.18 to 2.32 (default: the recorded one, else 2.30); to `choose` two, "
         "by a comma"},
        {"in-place", "", flag(), "under NCCL: the send buffer is the receive buffer"},
        {"graph", "", flag(), "calls of a CUDA graph, not issued one by one"},
        {"small-call", "", text("TIME"),
         "what the smallest call of --kernels takes outside CUDA graphs on your host, such as "
         "35us (default: that of the nearest recorded host)"},
        {"channels", "", number(),
         "of a textbook: channels that share the data (default: as many as NCCL uses)"},
        {"chunk", "", size(), "of a textbook: largest chunk; 0: unlimited (default: NCCL's)"},
        {"orders", "", number(3), "number of random orders for each depth of credit"},
    },
};

const OptionGroup size_options{
    "sizes",
    {
        {"minbytes", "b", size(), "the size, or the smallest of several: 8, 32K, 1.5M"},
        {"maxbytes", "e", size(), "the largest size, where there are several"},
        {"stepfactor", "f", real(), "factor between sizes (default 2)"},
        {"stepbytes", "i", size(), "bytes between sizes, instead of a factor"},
        {"bytes", "b", texts("SIZE"), "what a step moves: 350GB, or a list"},
        {"size", "b", size(), "bytes of a rank, which --skew divides; instead of --matrix"},
        {"matrix", "", text("FILE"),
         "sizes: a line for each sender with a size for each receiver; of all_gather_v one line"},
        {"tokens", "", text("LIST"), "tokens of a rank: 128 or 1,8,64"},
        {"over-ranks", "", text("LIST"), "rank counts, such as 2..8,16"},
        {"over-nodes", "", text("LIST"), "all GPUs of so many nodes, such as 1,2,4"},
    },
};

const OptionGroup job_options{
    "job",
    {
        {"model", "", text("NAME"), "a model (`collsim list models`), or a file: config.json"},
        {"parameters", "", text("N"), "gradients of so many parameters: 175e9, 175B"},
        {"global-batch", "", number(), "sequences of a step (default: a microbatch a rank)"},
        {"micro-batch", "", number(1), "sequences of a microbatch"},
        {"seq", "", number(), "tokens of a sequence (default: the model's)"},
        {"precision", "", text("TYPE"),
         "fp16, bf16, fp32, fp8, bf16-pure or amp; of gradients the first three"},
        {"attention", "", text("KERNEL", "flash2"), "flash2, flash1, fused or eager"},
        {"recompute", "", text("WHAT", "none"), "none, selective or full"},
        {"tp", "", number(1), "tensor-parallel ranks"},
        {"pp", "", number(1), "pipeline stages"},
        {"cp", "", number(1), "context-parallel ranks"},
        {"ep", "", number(1), "expert-parallel ranks"},
        {"interleave", "", number(1), "chunks of layers of a pipeline stage"},
        {"gpipe", "", flag(), "all forward passes first"},
        {"cp-gather", "", flag(), "with --cp: gather keys and values before attention"},
        {"no-sequence-parallel", "", flag(), "with --tp: all ranks compute norms"},
        {"tp-overlap", "", text("WHAT", "none"),
         "with --tp, calls beside products: none, backward (Megatron) or all (user buffers)"},
        {"software", "", text("NAME"), "what runs the step: models/data/software.yaml"},
        {"zero", "", number(0), "1: shard optimizer, 2: gradients, 3: parameters too"},
        {"shard", "", number(0), "with --zero 3: ranks that share a copy"},
        {"no-reshard", "", flag(), "with --zero 3: keep parameters until the backward pass"},
        {"no-overlap", "", flag(), "reduce gradients after the last backward pass"},
        {"bucket", "", text("SIZE"), "largest call of gradients; auto: tries several"},
        {"by-speed", "", flag(), "more microbatches for replicas on quicker GPUs"},
        {"prefill", "", flag(), "the first token of prompts, in place of a decoded token"},
        {"batch", "", number(1), "sequences that a replica serves at a time"},
        {"context", "", number(),
         "tokens of a sequence so far, or of a prompt (default: the model's sequence)"},
        {"serving", "", text("NAME"), "what serves: vllm or tensorrt-llm, with its host's time"},
        {"prefill-chunk", "", number(0),
         "tokens of another prompt that each step computes besides"},
        {"speculate", "", text("K:A"),
         "check K guessed tokens of a sequence at a time, each right with probability A: 4:0.7"},
        {"requests", "", real(), "requests a second, which come at random"},
        {"answer", "", number(200), "tokens of an answer, with --requests"},
        {"first-token", "", text("TIME"), "with --requests: until the first token, in the mean"},
        {"next-token", "", text("TIME"), "with --requests: between two tokens"},
        {"eager", "", flag(), "no CUDA graph: the host issues each kernel"},
        {"hidden", "", number(7168), "numbers of a token"},
        {"top-k", "", number(8), "experts of a token"},
        {"experts", "", number(256), "experts, which lie on ranks in their order"},
        {"hosts-per-token", "", number(4), "the most hosts of a token's experts"},
        {"type", "", text("fp8|bf16|nvfp4"), "of a dispatched token (default fp8)"},
        {"sms", "", number(20), "SMs that deepep is given"},
        {"skew", "", text("SKEW", "uniform"),
         "uniform, balanced, zipf:1.2, hot:4, or a file of a router's counts or choices"},
    },
};

const OptionGroup cost_options{
    "goal and cost",
    {
        {"compute-time", "", texts("TIME"),
         "computing of a step at the fewest GPUs: one time, or one for each machine"},
        {"scaling", "", words("weak|strong", "weak"),
         "weak: each GPU keeps its work; strong: it is divided"},
        {"target-time", "", text("TIME"), "the longest step"},
        {"target-share", "", text("SHARE"), "the largest share of communication: 10%"},
        {"tokens-total", "", text("N"), "tokens of the whole run: 300B, 1.4T"},
        {"deadline", "", text("TIME"), "the longest run: 30d"},
        {"budget", "", real(), "money for the run"},
        {"hourly-budget", "", real(),
         "money for an hour; each machine has as many nodes as that buys"},
        {"prices", "", text("FILE"), "prices that come before those of models/data/prices.yaml"},
        {"price", "", texts("LIST"), "of a GPU's hour, or of a GPU to buy: H100=2.10,B200=4"},
        {"vendor", "", text("NAME"), "whose prices (default: the first of each GPU)"},
        {"cost", "", words("rent|buy", "rent"), "what is paid"},
        {"mtbf", "", text("TIME"), "of a GPU, from failure to failure (default: Llama 3's 2112d)"},
        {"checkpoint-time", "", text("TIME"), "stop for a checkpoint (default 60s)"},
        {"restart-time", "", text("TIME"), "from failure to restart (default 10min)"},
        {"repair-time", "", text("TIME"), "until a failed node is back (default 24h)"},
        {"spares", "", number(), "nodes that stand by (default: what pays)"},
    },
};

const OptionGroup recording_options{
    "recordings",
    {
        {"recording", "", texts("FILE"), "recordings to read"},
        {"follow", "", flag(), "wait for more at the end of the files, until Ctrl-C"},
        {"log", "", texts("FILE"), "logs to read; - is standard input"},
        {"dump", "", texts("FILE"), "dumps to read, or folders of them"},
        {"id", "", text("TEXT", ""), "only rows whose id begins with this: forced/4/Ring"},
        {"place", "", words("out|in|all", "all"), "only rows out of place, or in place"},
        {"largest", "", size(), "only rows up to this size"},
        {"mode", "", words("plain|graph|all", "plain"), "only rows of such calls"},
        {"hold-out", "", texts("ROWS"),
         "rows that are scored but not fitted: id=PATTERN, collective=PATTERN, ranks=A..B, "
         "size=A..B (default: every third size; over several nodes alone every other)"},
        {"sizes", "", number(8), "sizes of each run that are fitted, spread evenly; 0: all"},
        {"name", "", text("NAME"), "name of the calibration (default: the file's)"},
        {"from", "", text("NAME"),
         "calibration to start from, also with transports: h100+ib (default: that of `run`)"},
        {"fit", "", text("LIST", ""),
         "constants to fit, names or patterns: launch,simple.*,*.alpha.nvlink (default: those that "
         "rows depend on; over several nodes alone the network's rate and latency)"},
        {"force", "", flag(), "write a calibration that is not plausible, or no better"},
        {"ablate", "", flag(), "then leave out one constant at a time, and say what it earns"},
        {"list", "", flag(), "print the constants with meaning and value, and exit"},
        {"require", "", text("LIST", ""),
         "limits in percent: median=5,mean=12,p90=30,worst=60,bias=5; choice=95 is a minimum"},
        {"compare", "", flag(), "what changed from the first log, or run, to the second"},
        {"threshold", "", value_of<double>("X", 5, "5"), "percent that a time may change"},
        {"no-causes", "", flag(), "the verdict alone, without its causes"},
        {"patience", "", text("TIME"),
         "how long a wait must last to be a hang: 90s (default: the call's own timeout)"},
        {"kernel-time", "", real(), "kernels take X times as long: 0.5 on quicker GPUs"},
        {"host-time", "", real(), "the host takes X times as long to issue kernels"},
        {"measured", "", texts("WHAT"), "a measured step: 4.2s, a log, or a trace of each rank"},
        {"validate", "", text("FILE"), "compare with steps: FILE, `published` or `h100x2`"},
    },
};

const OptionGroup method_options{
    "method",
    {
        {"engine", "",
         value_of<EngineName>("auto|native|simgrid|analytic", EngineName::native, "auto"),
         "what computes times; analytic: the formulas of `collsim estimate`"},
        {"exact", "", flag(), "simulate every message: continue no steady state, fold nothing"},
        {"estimate", "", flag(), "by formulas, without simulating"},
        {"simulate", "", flag(), "simulate calls instead of estimating them"},
        {"search", "", flag(), "search the quickest layouts that fit into memory"},
        {"advise", "", flag(), "try what else would be quicker, and say by how much"},
        {"settings", "", text("FILE"),
         "judge the NCCL_ settings of this text, line by line; - is standard input"},
        {"degrade", "", text("SHARE", "10%"), "the share of its rate that a cable has left"},
        {"top", "", number(20), "rows of the table"},
        {"best-by", "", text("COLUMN"), "only the fastest row for each value of a column"},
        {"pareto", "", text("COLUMNS"), "only rows that no other beats in all: time,nranks"},
        {"map", "", flag(), "what is fastest for each size, beside NCCL's choice"},
        {"threads", "", number(), "threads; 0: one for each core, as without it"},
    },
};

const OptionGroup view_options{
    "what is shown",
    {
        {"wide", "", flag(), "all columns, in lines of any length"},
        {"nccl-estimate", "", flag(), "also NCCL's own estimate, by which it chooses"},
        {"explain", "", flag(), "the parts of the time, and the busiest ports"},
        {"timeline", "", flag(), "draw what each stream does"},
        {"step", "", text("LIST"), "only these steps: 3 or 1,4..6; of a trace one, from 0"},
        {"values", "", flag(), "put numbers into the buffers, and add them"},
        {"channel", "", number(), "only this channel (default: the first that sends)"},
        {"messages", "", number(), "at most N messages (default 64; in JSON all)"},
        {"time", "", text("RANGE"), "only messages that begin in 10us..25us, as a timeline"},
        {"links", "", number(32), "how busy the N busiest links are"},
        {"healthy", "", flag(), "the call without its faults beside it"},
        {"embed", "", flag(), "a small page for a frame in another one"},
        {"pairs", "", flag(), "only the bandwidth between each pair of up to 1024 GPUs"},
        {"brief", "", flag(), "one line for each log"},
    },
};

const OptionGroup output_options{
    "output",
    {
        {"output", "o", output(), "write to this file"},
        {"resume", "", flag(), "go on with the file of -o, where an earlier sweep ended"},
        {"trace", "", output(), "write the timeline for ui.perfetto.dev"},
        {"write", "", output(), "write the step as a program, for `collsim train`"},
        {"keep", "", output(), "write the machine that was composed"},
        {"svg", "", output(), "write a drawing"},
        {"png", "", output(), "write a picture, by rsvg-convert"},
        {"html", "", output(), "write a page"},
        {"export-tuner", "", output(), "write the map for a tuner plug-in of NCCL"},
        {"export-lookup", "", output(), "write the times for programs: include/collsim/lookup.h"},
        {"export-env", "", output(), "write the NCCL_ALGO and NCCL_PROTO that lose least"},
        {"export-thresholds", "", output(), "write where kernels cross over, for Python"},
        {"msccl", "", output(), "write the schedule as MSCCL's XML"},
        {"format", "", {}, "form of the answer"},
        {"time-limit", "", real(), "give up after X seconds"},
        {"help", "h", flag(), "print this manual; -h: its first page"},
    },
};

}  // namespace

const std::vector<OptionGroup>& option_groups() {
  static const std::vector<OptionGroup> groups{machine_options, call_options, size_options,
                                               job_options,     cost_options, recording_options,
                                               method_options,  view_options, output_options};
  return groups;
}

const std::vector<OptionPair>& exclusive_options() {
  static const std::vector<OptionPair> pairs{
      {"nodes", "gpus"},           {"rank-list", "ranks"},    {"rank-list", "ranks-per-node"},
      {"stepbytes", "stepfactor"}, {"kernels", "registered"}, {"over-ranks", "over-nodes"},
      {"by-speed", "straggler"},   {"best-by", "pareto"},     {"hourly-budget", "nodes"},
      {"hourly-budget", "gpus"},
  };
  return pairs;
}

const std::vector<OptionPair>& needed_options() {
  static const std::vector<OptionPair> pairs{
      {"alpha", "bandwidth"},       {"bandwidth", "alpha"},      {"target-share", "compute-time"},
      {"deadline", "tokens-total"}, {"budget", "tokens-total"},  {"resume", "output"},
      {"threshold", "compare"},     {"requests", "first-token"}, {"requests", "next-token"},
  };
  return pairs;
}

}  // namespace collsim::command
