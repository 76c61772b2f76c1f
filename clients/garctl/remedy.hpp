// Remedies: commands for a shell that change what a finding found, made for the node at hand.
//
// Model: a command is for whoever asked: with sudo where that is not root; with systemctl where
// systemd has gard's unit; in the configuration file that the running gard read.
// Invariants: nothing that came from elsewhere stands unquoted in a command; pasted into a shell of
// /bin/sh it does what the finding says, or says why not.
// Threads: pure. Allocation: texts.
#pragma once

#include <string>
#include <string_view>

#include "clients/garctl/host_files.hpp"

namespace gar {

// "sudo COMMAND", for root "COMMAND".
std::string as_root(const host_files& on, const std::string& command);
// Puts a text into a file of the kernel's, or into each that a pattern names.
std::string put_into(const host_files& on, std::string_view text, std::string_view files);
// Behind what the file has already.
std::string add_line(const host_files& on, std::string_view line, std::string_view file);
// "COMMAND && systemctl restart gard"; without systemd a comment says that it is to be started
// anew.
std::string then_restart(const host_files& on, const std::string& command);
std::string restart(const host_files& on);

// Sets a key of gard.toml and starts gard anew. `value` is as the file has it: "true",
// "\"fifo:1\"".
std::string configure(const host_files& on, std::string_view section, std::string_view key,
                      std::string_view value);
// As above, for a key of [latency], which the unit as shipped keeps gard from.
std::string configure_latency(const host_files& on, std::string_view key, std::string_view value);

// Lets the unit do what [latency] asks for; empty where it is let already, or is no unit of
// systemd.
std::string allow_latency(const host_files& on);

// 'TEXT', whatever is in it.
std::string shell_word(std::string_view text);

}  // namespace gar
