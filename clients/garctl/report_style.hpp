// The style sheet of the report's page: a browser's light and dark colours, one column on a phone.
//
// It is within the page, which must show without a network. --k0 to --k3 are the kinds in which a
// wait ends, as report_page.cpp orders them.
#pragma once

#include <string_view>

namespace gar {

inline constexpr std::string_view report_style = R"(
:root { color-scheme: light dark; --ink: #1d2327; --dim: #5b666e; --paper: #ffffff; --card: #f3f5f7;
  --rule: #d5dbe0; --bar: #2f6f9f; --k0: #8a6d3b; --k1: #2f8f5b; --k2: #b4582f; --k3: #2f6f9f;
  --warn: #9a5b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebee; --dim: #a3afb8; --paper: #14181b;
  --card: #1f2529; --rule: #39434a; --bar: #6cb2e0; --k0: #d3b277; --k1: #6fce9a; --k2: #e8966e;
  --k3: #6cb2e0; --warn: #f0b14d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.2rem; background: var(--paper); color:
  var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
h3 { font-size: .95rem; margin: 0 0 .4rem; } p { margin: .3rem 0; } .dim, .none { color:
  var(--dim); }
code { font-size: .9em; }
.tiles { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr));
  margin-top: 1rem; }
.tile, .card { background: var(--card); border: 1px solid var(--rule); border-radius: .5rem;
  padding: .8rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.3; }
.cards { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(min(100%,
  24rem), 1fr)); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: right; padding: .35rem .5rem; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 9rem; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--dim); font-size: 14px; }
@media (max-width: 40rem) { svg text { font-size: 24px; }
  table, tbody { display: block; } tr { display: grid; grid-template-columns: repeat(3, 1fr);
  border-bottom: 1px solid var(--rule); } th, td { border: 0; padding: .1rem 0; white-space: normal;
  } th:first-child, td:first-child { grid-column: 1 / -1; padding-top: .4rem; } }
.axis { stroke: var(--rule); } .bar { fill: var(--bar); }
.k0 { fill: var(--k0); background: var(--k0); } .k1 { fill: var(--k1); background: var(--k1); }
.k2 { fill: var(--k2); background: var(--k2); } .k3 { fill: var(--k3); background: var(--k3); }
.key { margin: .8rem 0; }
.key span { display: inline-block; width: .8em; height: .8em; border-radius: .15em; margin: 0
  .3em 0 .8em; }
.warning { border-left: .3rem solid var(--warn); padding-left: .7rem; margin: .8rem 0; }
)";

}  // namespace gar
