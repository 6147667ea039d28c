// What the HTML report looks like. Included by html.cc only.
#pragma once

#include <string_view>

namespace deadheat::report {

inline constexpr std::string_view kHtmlStyle = R"(
:root{color-scheme:light dark;--ground:#fbfbfa;--card:#fff;--ink:#1d1f21;--quiet:#62686d;--line:#dfe1e3;--race:#b3261e;
--mark:#fff1c9;--code:#f4f5f6;--link:#0b57a4;--good:#1b6e3c}
@media(prefers-color-scheme:dark){:root{--ground:#16181a;--card:#1e2124;--ink:#e4e6e8;--quiet:#9aa1a8;--line:#34393e;
--race:#ff8a80;--mark:#4a3f16;--code:#17191b;--link:#8ab8f0;--good:#7fd19b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:88rem;padding:1.5rem;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.35rem;margin:0 0 .2rem}h2{font-size:1.05rem;margin:0;line-height:1.4}h3{font-size:.95rem;margin:0 0 .3rem}
code,pre,.mono{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
header p{margin:.15rem 0;color:var(--quiet)}header code{color:var(--ink);overflow-wrap:anywhere}
.bar{display:flex;flex-wrap:wrap;gap:.8rem 1.2rem;align-items:center;margin:1.1rem 0;padding:.6rem .8rem;background:var(--card);
border:1px solid var(--line);border-radius:8px;position:sticky;top:0;z-index:1}
.bar input[type=search]{flex:1 1 16rem;min-width:0;font:inherit;padding:.35rem .6rem;border:1px solid var(--line);
border-radius:6px;background:var(--ground);color:var(--ink)}
.bar label{white-space:nowrap}.count{color:var(--quiet)}
details.finding{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:.8rem 0}
details.finding>summary{cursor:pointer;padding:.8rem 1rem .8rem .3rem;list-style-position:outside;margin-left:1.9rem}
summary h2{display:inline;color:var(--race);overflow-wrap:anywhere}
summary .where{display:block;color:var(--quiet);overflow-wrap:anywhere}
.chip{display:inline-block;font-size:.78rem;padding:0 .5rem;border:1px solid var(--line);border-radius:99px;color:var(--quiet);
margin-left:.5rem;white-space:nowrap}
.chip.harmful{color:var(--race);border-color:var(--race)}.chip.benign,.chip.ordered{color:var(--good);border-color:var(--good)}
.body{padding:0 1rem 1rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1rem}
.side{border-top:3px solid var(--race);padding-top:.5rem;min-width:0}
.side p{margin:.2rem 0}.value{color:var(--race)}
ol.stack{list-style:none;margin:.3rem 0;padding:0;overflow-x:auto}
ol.stack li{white-space:nowrap}ol.stack .n{color:var(--quiet);display:inline-block;width:2.2em}
ol.stack .far,ol.stack .far .at{color:var(--quiet)}
ol.stack .at{color:var(--link);margin-left:.8em}
pre.source{margin:.5rem 0;padding:.5rem 0;background:var(--code);border:1px solid var(--line);border-radius:6px;overflow-x:auto}
pre.source span{display:block;padding:0 .7rem;min-width:max-content}pre.source .hit{background:var(--mark)}
pre.source i{font-style:normal;color:var(--quiet);user-select:none}pre.source b{color:var(--race);text-decoration:underline}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem .9rem;margin:1rem 0 0}dt{color:var(--quiet)}dd{margin:0;
overflow-wrap:anywhere}
.more{margin-top:.8rem}.more summary{cursor:pointer;color:var(--link)}
table{border-collapse:collapse;margin:.4rem 0}td,th{text-align:left;padding:.05rem 1.2rem .05rem .4rem;font-weight:normal}
th{color:var(--quiet)}tr.hit{background:var(--mark)}
.none{padding:2rem;text-align:center;color:var(--good);font-size:1.1rem}
@media print{.bar{display:none}details.finding{break-inside:avoid}}
)";

inline constexpr std::string_view kHtmlScript = R"(
(function(){
  var box=document.getElementById('filter'),boxes=document.querySelectorAll('.bar input[type=checkbox]');
  var all=Array.prototype.slice.call(document.querySelectorAll('details.finding'));
  var count=document.getElementById('count');
  if(!box)return;
  function apply(){
    var words=box.value.toLowerCase().split(/\s+/).filter(Boolean),off={},shown=0;
    boxes.forEach(function(b){if(!b.checked)off[b.value]=true;});
    all.forEach(function(f){
      var text=f.textContent.toLowerCase();
      var ok=!off[f.dataset.verdict]&&words.every(function(w){return text.indexOf(w)>=0;});
      f.hidden=!ok;if(ok)shown++;
    });
    count.textContent=shown===all.length?'':shown+' of '+all.length+' shown';
  }
  box.addEventListener('input',apply);
  boxes.forEach(function(b){b.addEventListener('change',apply);});
  document.getElementById('fold').addEventListener('click',function(){
    var open=all.some(function(f){return !f.open;});
    all.forEach(function(f){f.open=open;});
  });
  if(location.hash){var f=document.getElementById(location.hash.slice(1));if(f)f.open=true;}
})();
)";

}  // namespace deadheat::report
